package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress tells a person at a terminal how far a command is. Anyone else is told nothing.
type progress struct {
	to    io.Writer // nil: nobody looks on
	what  string
	total int64 // -1: not known
	began time.Time
	last  time.Time
}

func newProgress(to io.Writer, what string, total int64) *progress {
	p := &progress{what: what, total: total, began: time.Now()}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		p.to = to
	}
	return p
}

// at shows that done of the total are done.
func (p *progress) at(done int64) {
	if p.to == nil || time.Since(p.last) < 100*time.Millisecond {
		return
	}
	p.last = time.Now()
	fmt.Fprintf(p.to, "\r%-70s", progressLine(p.what, done, p.total, time.Since(p.began)))
}

// end gives the line back.
func (p *progress) end() {
	if p.to != nil {
		fmt.Fprintf(p.to, "\r%70s\r", "")
	}
}

// progressLine is the text of progress, with an estimate of what is left once it can be made.
func progressLine(what string, done, total int64, spent time.Duration) string {
	if total <= 0 {
		return fmt.Sprintf("%s: %d", what, done)
	}
	line := fmt.Sprintf("%s: %d of %d (%d %%)", what, done, total, 100*done/total)
	if done > 0 && spent > time.Second {
		line += fmt.Sprintf(", %v left", time.Duration(float64(spent)*float64(total-done)/float64(done)).Round(time.Second))
	}
	return line
}
