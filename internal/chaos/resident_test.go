package main

import "testing"

// Growing memory is reported, but only of a stage that lived long enough.
func TestMemoryThatGrowsIsTold(t *testing.T) {
	grown := make([]int64, 30)
	for i := range grown {
		grown[i] = int64(i*i) << 20
	}
	for _, test := range []struct{ samples, violations int }{{30, 1}, {31, 0}} {
		p := &process{name: "stage-1", observed: make(chan struct{}), resident: grown}
		close(p.observed)
		s := &scenario{h: newHistory(nil), all: []*process{p}}
		if largest := s.judgeMemory(test.samples); largest != grown[29] {
			t.Errorf("largest %d, want %d", largest, grown[29])
		}
		if got := len(s.h.failed()); got != test.violations {
			t.Errorf("of %d samples: %d violations, want %d", test.samples, got, test.violations)
		}
	}
}
