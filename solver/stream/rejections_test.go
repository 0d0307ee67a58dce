package stream

import (
	"math"
	"slices"
	"testing"
)

// TestRejectionsGiveWayToExamples: items nearer to an example of a class than to a rejection stay in the
// class, however far the rejected item was.
func TestRejectionsGiveWayToExamples(t *testing.T) {
	at := func(angle float64) []float32 { return []float32{float32(math.Cos(angle)), float32(math.Sin(angle))} }
	r := rejecting{
		list:    []*rejected{{unit: at(0)}},
		classes: []rejectedClass{{class: 1, by: []int{0}, examples: slices.Concat(at(1), at(.3))}},
	}
	for angle, against := range map[float64]bool{0: true, .1: true, .2: false, .25: false, -.3: true} {
		row := make([]float32, 2)
		near := r.speak(row, 2, []Item{{Vector: at(angle)}}, new(rejectionScratch))
		if near != against || (row[1] < 0) != against || row[0] != 0 {
			t.Errorf("at %v: %v, against: %t", angle, row, against)
		}
	}
}
