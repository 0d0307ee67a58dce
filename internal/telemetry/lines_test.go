package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// Nobody waits for a log that is not read: lines are kept up to a bound, and those beyond it are counted.
func TestLinesDoNotWait(t *testing.T) {
	read, full := io.Pipe()
	var told int
	l := NewLines(full, func(to io.Writer, dropped int) { told += dropped; fmt.Fprintln(to, "dropped", dropped) })
	line := []byte(strings.Repeat("x", 1<<10) + "\n")
	const lines = 5000
	for range lines { // would block at once
		if n, err := l.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	go l.Close(time.Minute)
	all := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(read)
		all <- b
	}()
	<-l.done
	full.Close()
	if got := bytes.Count(<-all, line); got+told != lines || got > mostWaiting/len(line) {
		t.Errorf("%d lines of %d, and %d dropped", got, lines, told)
	}
}

// A log that nobody reads does not keep the process from its end.
func TestLinesEndWithoutAReader(t *testing.T) {
	_, full := io.Pipe()
	l := NewLines(full, func(io.Writer, int) {})
	_, _ = l.Write([]byte("nobody reads this\n"))
	l.Close(time.Millisecond)
}

// All that was written before the end is passed on, in order.
func TestLinesArePassedOn(t *testing.T) {
	var all bytes.Buffer
	l := NewLines(&all, func(io.Writer, int) { t.Error("nothing was dropped") })
	want := ""
	for i := range 1000 {
		text := fmt.Sprintln("line", i)
		want += text
		_, _ = io.WriteString(l, text)
	}
	l.Close(time.Minute)
	if all.String() != want {
		t.Errorf("%d bytes of %d", all.Len(), len(want))
	}
}
