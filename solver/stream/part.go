package stream

import (
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// part is one thing that a stream learns, with its state, its rule and its encoding in one file. A new one
// takes a new file and an entry in Stream.parts.
type part interface {
	// observe learns from an answered episode.
	observe(e *answered)
	// encode writes what was learned: fields of the head or of class pieces, or pieces of its own.
	encode(w *encoder)
	// decode reads one field of any piece and ignores fields of other parts. Number 0 is the end of a piece.
	decode(f *field)
	// reset forgets a class, and reports whether there was anything to forget.
	reset(class string) bool
}

// answered is an answered episode, from which the parts learn.
type answered struct {
	stream  *Stream
	engine  *Engine // that answered it
	number  int64   // of the episode, from 1
	items   []Item
	problem *problem
	solved  *solver.Result // nil: clusters answered it, or the stream is cold; its answers teach nothing
	report  *Report

	tested   []heldOut     // the stream's answers to labelled items without their labels
	scores   *scoreDensity // the unknown scores, including this episode's
	credit   float64       // of reviews, left for later episodes
	relabels bool          // the labels topic has changed since the last episode
	cold     bool          // only clusters are learned
}

// fair lists the tested answers that could be right.
func (e *answered) fair() []heldOut {
	return slices.DeleteFunc(slices.Clone(e.tested), func(a heldOut) bool { return a.alone })
}

// taughtLater reports whether the episode brings labels to a stream that has answered before.
func (e *answered) taughtLater() bool {
	if e.number == 1 {
		return false
	}
	if e.relabels {
		return true
	}
	for i := range e.items {
		if e.items[i].Label != "" && !e.cold {
			return true
		}
	}
	return false
}

// labelled returns the labelled items in the episode and outside of it, in z-space, and their classes.
func (e *answered) labelled() (z []float32, classes []int32) {
	p, r := e.problem, e.solved
	for i, c := range p.labels {
		if c >= 0 {
			z, classes = append(z, r.Z[i*p.D:i*p.D+p.D]...), append(classes, c)
		}
	}
	beside, of := r.Labelled()
	return append(z, beside...), append(classes, of...)
}
