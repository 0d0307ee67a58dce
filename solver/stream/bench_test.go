package stream

import (
	"fmt"
	"testing"
)

// BenchmarkState shows what a stream of ten classes costs to encode, and how many bytes its state is.
func BenchmarkState(b *testing.B) {
	for _, d := range []int{128, 512, 1280} {
		for _, c := range []struct {
			name   string
			rank   int
			taught float64
		}{{"plain", 0, 0}, {"metric", 32, 0}, {"taught", 0, .03}, {"metric-taught", 32, .03}} {
			set := settings(b)
			set.Solver.Check = false
			set.Solver.MetricRank = c.rank
			f := newCamera(1, 10, d, 1.5)
			labels := f.labels(5)
			s, e := New("cam", set), engine(b, set)
			for range 25 {
				items, _ := f.episode(100, c.taught)
				answer(b, s, e, items, labels)
			}
			b.Run(fmt.Sprintf("d=%d/%s", d, c.name), func(b *testing.B) {
				n := 0
				for b.Loop() {
					n = 0
					for _, p := range s.State() {
						n += len(p.Bytes)
					}
				}
				b.ReportMetric(float64(n), "bytes/state")
			})
		}
	}
}
