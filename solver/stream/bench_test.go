package stream

import (
	"fmt"
	"testing"
)

// BenchmarkState measures the time to encode a stream of ten classes, and the bytes of its state.
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
			s, e := New("cam", set), new(Engine)
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

// BenchmarkAnswer measures the cost of using the order of items: an episode of 100 items of ten
// classes in runs.
func BenchmarkAnswer(b *testing.B) {
	for _, c := range []struct {
		name   string
		timed  bool
		taught int // one item in this many
		n      int
	}{
		{"untimed", false, 0, 100},
		{"timed", true, 0, 100},
		{"untimed-taught", false, 33, 100},
		{"timed-taught", true, 33, 100},
		{"untimed-one", false, 0, 1},
		{"timed-one", true, 0, 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			set := settings(b)
			set.Solver.Check, set.Time, set.Solver.MetricRank = false, c.timed, 0
			f := newCamera(1, 10, 512, 1.5)
			labels := f.labels(5)
			s, e := New("cam", set), new(Engine)
			var episodes [][]Item
			for range 20 {
				items, truth := f.bursts(c.n, 12)
				for i := 5; c.taught > 0 && i < len(items); i += c.taught {
					items[i].Label = truth[i]
				}
				episodes = append(episodes, items)
			}
			for i := 0; b.Loop(); i++ {
				if i%20 == 0 {
					s = New("cam", set)
				}
				answer(b, s, e, episodes[i%20], labels)
			}
		})
	}
}

// BenchmarkLabels measures an episode of three items beside many examples of the labels topic.
func BenchmarkLabels(b *testing.B) {
	for _, c := range []struct{ classes, each int }{{100, 5}, {100, 20}, {100, 200}, {10, 10_000}} {
		b.Run(fmt.Sprint(c.classes*c.each), func(b *testing.B) {
			b.ReportAllocs()
			set := settings(b)
			set.Solver.Check = false
			f := newCamera(1, c.classes, 512, 1.5)
			labels := f.labels(c.each)
			s, e := New("cam", set), new(Engine)
			for range 4 {
				items, _ := f.episode(100, 0)
				answer(b, s, e, items, labels)
			}
			items, _ := f.episode(3, 0)
			for b.Loop() {
				answer(b, s, e, items, labels)
				b.StopTimer()
				s.Learn()
				b.StartTimer()
			}
		})
	}
}

// BenchmarkSettled measures one episode of 100 items of one of 16 streams that have long been active:
// answering and learning, ten classes with five labelled items each.
func BenchmarkSettled(b *testing.B) {
	const streams, young = 16, 45
	set := settings(b)
	set.Solver.Check = false
	f := newCamera(1, 10, 512, 1.5)
	labels := f.labels(5)
	var episodes [][]Item
	for range 40 {
		items, _ := f.bursts(100, 12)
		episodes = append(episodes, items)
	}
	e, all := new(Engine), make([]*Stream, streams)
	for i := range all {
		all[i] = New(fmt.Sprint("cam", i), set)
		for j := range young {
			answer(b, all[i], e, episodes[(i+j)%len(episodes)], labels)
		}
	}
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		answer(b, all[i%streams], e, episodes[(i*7)%len(episodes)], labels)
	}
}
