package main

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100",
		-1000: "-1,000",
	} {
		if got := thousands(n); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
}

// The first report of a speed needs an earlier count: a minute of work was logged as per_second=0.
func TestReportMeasuresSpeedFromTheStart(t *testing.T) {
	asked := 0
	c := &call{console: &console{}}
	stop := c.report(func() []figure { asked++; return nil })
	if asked == 0 {
		t.Error("work began before the figures were asked for")
	}
	stop()
}

// A message is printed above the progress line, which is drawn again below it.
func TestMessagesStandAboveTheLine(t *testing.T) {
	var out bytes.Buffer
	c := newConsole(&out, false)
	c.line = "50 %"
	if n, err := c.Write([]byte("a message\n")); n != 10 || err != nil {
		t.Error(n, err)
	}
	c.close()
	if got := out.String(); got != "\r\x1b[Ka message\n50 %" {
		t.Errorf("%q", got)
	}
}

// Names of streams are in the progress line, and what a sender wrote may be in an error: neither moves the cursor.
func TestProgressAndErrorsShowEscapes(t *testing.T) {
	terminal, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	defer other.Close()
	var out bytes.Buffer
	c := newConsole(&out, false)
	c.terminal = terminal
	c.show("door\x1b[2J\n #3: 8 items")
	c.close()
	if got := out.String(); got != "\r\x1b[Kdoor.[2J. #3: 8 items" {
		t.Errorf("shown as %q", got)
	}
	if got := withoutEscapes([]any{errors.New("topic a\x1bb:\n- one")})[0]; got != "topic a.b:\n- one" {
		t.Errorf("an error is %q", got)
	}
}
