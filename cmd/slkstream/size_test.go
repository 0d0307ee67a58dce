package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// size adds up what a stage takes: twice the cameras take twice the streams' memory and topic bytes, larger vectors and
// more classes more, and what is live is the sum of its parts.
func TestSize(t *testing.T) {
	planned := func(more string) (p plan) {
		code, out, messages := runLine(t, strings.Fields("size --json --episode-size 40 --dimension 64 --classes 5 "+more)...)
		if err := json.Unmarshal([]byte(out), &p); code != exitDone || err != nil {
			t.Fatalf("exit %d, %v: %s", code, err, messages)
		}
		if sum := p.Streams + p.Metrics + p.Labels + p.Episodes + p.Page + p.Work; sum != p.Live || p.Memory != 2*p.Live ||
			p.Streams <= 0 || p.Metrics <= 0 || p.Cores <= 0 || p.Partitions < 4 || p.OutADay <= 0 {
			t.Errorf("%+v", p)
		}
		return p
	}
	one, two, large := planned("--cameras 10"), planned("--cameras 20"), planned("--cameras 10 --dimension 256 --classes 20")
	if two.Streams != 2*one.Streams || two.Metrics != 2*one.Metrics || two.InADay != 2*one.InADay || two.ItemsPerSecond != 100 {
		t.Errorf("ten cameras %+v, twenty %+v", one, two)
	}
	if large.Streams < 2*one.Streams || large.Metrics < 2*one.Metrics || large.Labels < 8*one.Labels || large.InADay < 2*one.InADay {
		t.Errorf("64 numbers and 5 classes %+v, 256 and 20 %+v", one, large)
	}
	code, out, _ := runLine(t, strings.Fields("size --cameras 3 --dimension 64 --classes 5 --recent 0")...)
	for _, want := range []string{"3 cameras of 64 numbers, 5 classes with 5 examples each: 15 items a second", "--memory ", "cores ", "partitions  8 ", "topics "} {
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("exit %d, without %q:\n%s", code, want, out)
		}
	}
}
