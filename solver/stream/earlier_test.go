package stream

import (
	"math"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Episodes of a few items are answered better when they are solved with the items before them. These go when
// a class is reset, and are not kept after a long episode.
func TestShortEpisodes(t *testing.T) {
	right := func(size int, alone bool) (share float64, s *Stream) {
		f := newCamera(5, 8, 48, 2)
		labels := f.labels(5)
		items, truth := f.bursts(960, 20)
		s = New("cam", settings(t))
		e, count := engine(t, s.settings), 0.
		for at := 0; at < len(items); at += size {
			if alone {
				s.earlier = earlier{}
			}
			answers, _ := answer(t, s, e, items[at:at+size], labels)
			for i, a := range answers {
				if a.Label == truth[at+i] {
					count++
				}
			}
		}
		return count / float64(len(items)), s
	}
	_, s := right(120, false)
	if n := len(s.earlier.scales); n > 0 {
		t.Errorf("%d items are kept after a long episode", n)
	}
	for _, size := range []int{1, 4} {
		alone, _ := right(size, true)
		together, s := right(size, false)
		if together < alone+.02 {
			t.Errorf("%.3f right in episodes of %d items, %.3f without the items before them", together, size, alone)
		}
		if n := len(s.earlier.scales); n != solvedTogether {
			t.Errorf("%d items are kept", n)
		}
		before, _ := s.Bytes()
		s.Reset(label(1))
		if after, _ := s.Bytes(); len(s.earlier.scales) > 0 || before-after < 30*solvedTogether {
			t.Errorf("%d earlier items after a reset, %d bytes of %d", len(s.earlier.scales), after, before)
		}
	}
}

// The rows of a short episode are its items, then the last items before them.
func TestEarlierItemsComeBefore(t *testing.T) {
	f := newCamera(6, 4, 16, 1)
	labels, s := f.labels(1), New("cam", settings(t))
	e := engine(t, s.settings)
	var last []Item
	for range 20 {
		items, _ := f.episode(7, .2)
		items[0].Frame, items[1].Track = "frame", "track"
		rows := s.earlier.before(items, new(problem))
		most := min(solvedTogether-len(items), earlierEach*len(items))
		want := slices.Concat(items, last[max(0, len(last)-most):])
		if len(rows) != len(want) {
			t.Fatalf("%d rows, not %d", len(rows), len(want))
		}
		for i := range rows {
			x, y := &rows[i], &want[i]
			if x.Frame != y.Frame || x.Track != y.Track || x.Label != "" && i >= len(items) {
				t.Errorf("row %d is %+v", i, x)
			}
			step := .1 * kernel.Largest(y.Vector)
			for j, v := range x.Vector {
				if d := v - y.Vector[j]; d > step || d < -step {
					t.Errorf("row %d: value %d is %g, not %g", i, j, v, y.Vector[j])
				}
			}
		}
		answer(t, s, e, items, labels)
		last = append(last, items...)
	}
}

// The largest number that a vector may have is kept as a finite one.
func TestEarlierItemsStayFinite(t *testing.T) {
	f := newCamera(7, 3, 16, 1)
	labels, s := f.labels(2), New("cam", settings(t))
	e := engine(t, s.settings)
	for i := range 4 {
		items, _ := f.episode(3, 0)
		if i == 1 {
			items[0].Vector[0] = math.MaxFloat32
		}
		if _, _, err := s.Answer(t.Context(), e, items, labels); err != nil && i != 1 {
			t.Fatalf("episode %d: %v", i, err)
		}
		for _, scale := range s.earlier.scales {
			if scale-scale != 0 {
				t.Errorf("a scale of %g", scale)
			}
		}
	}
}
