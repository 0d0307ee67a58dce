package taught

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestRejectionsGiveWayToExamples: items nearer to an example of a class than to a rejection stay in the
// class, however far the rejected item was.
func TestRejectionsGiveWayToExamples(t *testing.T) {
	at := func(angle float64) []float32 { return []float32{float32(math.Cos(angle)), float32(math.Sin(angle))} }
	r := EpisodeRejections{
		list:    []*rejected{{unit: at(0)}},
		classes: []rejectedClass{{class: 1, by: []int{0}, examples: slices.Concat(at(1), at(.3))}},
		all:     2,
	}
	for angle, against := range map[float64]bool{0: true, .1: true, .2: false, .25: false, -.3: true} {
		row := make([]float32, 2)
		near := r.Speak(row, []Row{{Vector: at(angle)}}, new(Scratch))
		if near != against || (row[1] < 0) != against || row[0] != 0 {
			t.Errorf("at %v: %v, against: %t", angle, row, against)
		}
	}
}

// TestRejectionsAreBounded: rejections are bounded, in all and per class; the newest stay in force.
func TestRejectionsAreBounded(t *testing.T) {
	var list []Rejection
	for i := range 2 * rejectionsMost {
		list = append(list, Rejection{Not: []string{fmt.Sprint(i % 3)}, Vector: []float32{float32(i + 1), 1}})
	}
	r, leftOut := NewRejections(list)
	got := 0
	for _, list := range r.of[""] {
		got += len(list)
	}
	if got != 3*rejectionsMostClass || leftOut != len(list)-got {
		t.Errorf("%d in force, %d left out", got, leftOut)
	}
	if last := r.of[""][list[len(list)-1].Not[0]][0].Vector[0]; last != 2*rejectionsMost {
		t.Errorf("the newest is %v", last)
	}
}
