package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/slkstream/slkstream/internal/telemetry"
)

// console writes messages: log lines and, on a terminal, a progress line below them. Nobody waits for who reads
// them.
type console struct {
	to       *telemetry.Lines
	terminal *os.File // nil: no terminal, so no progress line

	mu   sync.Mutex
	line string
}

func newConsole(to io.Writer, inJSON bool) *console {
	c := &console{to: telemetry.NewLines(to, func(to io.Writer, dropped int) {
		newLogger(to, slog.LevelWarn, inJSON).Warn("lines of the log were dropped, as nobody read them", "lines", dropped)
	})}
	if file, ok := to.(*os.File); ok && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		c.terminal = file
	}
	return c
}

// Write writes a message above the progress line.
func (c *console) Write(message []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.line == "" {
		return c.to.Write(message)
	}
	n, err := fmt.Fprintf(c.to, "\r\x1b[K%s%s", message, c.line)
	return min(n, len(message)), err
}

// close waits until all is written, unless nobody reads it.
func (c *console) close() { c.to.Close(time.Second) }

// show replaces the progress line with text; "" clears it.
func (c *console) show(text string) {
	if c.terminal == nil {
		return
	}
	text = printable(text, len(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	if width, _, err := term.GetSize(int(c.terminal.Fd())); err == nil && width > 0 {
		if letters := []rune(text); len(letters) >= width {
			text = string(letters[:width-1])
		}
	}
	if text != c.line {
		c.line = text
		_, _ = fmt.Fprintf(c.to, "\r\x1b[K%s", text) // a closed terminal does not stop the command
	}
}

// progress reports a command's progress: on a terminal in the progress line, else in the log, once a minute.
type progress struct {
	call   *call
	stage  string
	began  time.Time // start of the present stage
	shown  time.Time
	logged time.Time
}

const (
	shownEvery  = 200 * time.Millisecond
	loggedEvery = time.Minute
)

func newProgress(c *call) *progress { return &progress{call: c, logged: time.Now()} }

// at reports that done of a stage's total are done; a total below 1 is unknown.
func (p *progress) at(stage string, done, total int64) {
	now := time.Now()
	if stage != p.stage {
		p.stage, p.began, p.shown = stage, now, time.Time{}
	}
	if now.Sub(p.shown) >= shownEvery {
		p.shown = now
		p.call.console.show(progressLine(stage, done, total, now.Sub(p.began)))
	}
	if now.Sub(p.logged) >= loggedEvery {
		p.logged = now
		p.call.Log.Info(stage, "done", done, "of", total, "for", now.Sub(p.began).Round(time.Second))
	}
}

// end clears the progress line.
func (p *progress) end() { p.call.console.show("") }

// progressLine formats progress, with an estimate of the time left once there is one.
func progressLine(what string, done, total int64, spent time.Duration) string {
	if total <= 0 {
		return fmt.Sprintf("%s: %d", what, done)
	}
	line := fmt.Sprintf("%s: %d of %d (%d %%)", what, done, total, 100*done/total)
	if done > 0 && spent > time.Second {
		left := time.Duration(float64(spent) * float64(total-done) / float64(done))
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}

// figure is one value of a report.
type figure struct {
	name string
	log  any    // for the log
	text string // for the progress line; "" omits it
}

// report shows figures until stop is called: on a terminal in the progress line, else in the log, once a
// minute. figures returns the present values.
func (c *call) report(figures func() []figure) (stop func()) {
	figures() // speeds are measured from here, so that the first report has one
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		show, log := time.NewTicker(shownEvery), time.NewTicker(loggedEvery)
		defer show.Stop()
		defer log.Stop()
		for {
			select {
			case <-done:
				c.console.show("")
				return
			case <-show.C:
				if c.console.terminal != nil {
					c.console.show(lineOf(figures()))
				}
			case <-log.C:
				if c.console.terminal == nil {
					all := figures()
					if slices.ContainsFunc(all, func(f figure) bool { return f.name == "cut_off" }) {
						c.Log.Warn("not at work", attributes(all)...)
					} else {
						c.Log.Info("at work", attributes(all)...)
					}
				}
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

func lineOf(figures []figure) string {
	var texts []string
	for _, f := range figures {
		if f.text != "" {
			texts = append(texts, f.text)
		}
	}
	return strings.Join(texts, " · ")
}

func attributes(figures []figure) []any {
	var all []any
	for _, f := range figures {
		all = append(all, f.name, f.log)
	}
	return all
}

// thousands formats a count with separators: 12,340.
func thousands(n int64) string {
	digits := []byte(fmt.Sprint(n))
	var out bytes.Buffer
	for i, d := range digits {
		if i > 0 && d != '-' && digits[i-1] != '-' && (len(digits)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteByte(d)
	}
	return out.String()
}
