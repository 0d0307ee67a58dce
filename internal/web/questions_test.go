package web

import (
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// Of questions about the same two names whose items are alike one counts: the latest, which is asked first. Once it is answered
// those like it, that wait or come later, do not count either, until the answer is undone.
func TestQuestionsThatAskTheSame(t *testing.T) {
	q := newQuestions()
	ask := func(id, label, other string, unknown bool, vector ...float32) {
		guess := record.Guess{Label: label, Unknown: unknown}
		if other != "" {
			guess.Alternatives = []record.Alternative{{Label: other}}
		}
		q.Ask(record.Review{ID: id, Vector: vector, Guess: guess})
	}
	counts := func(what string, waiting, different int) {
		t.Helper()
		if w, d, _ := q.session(); w != waiting || d != different {
			t.Errorf("%s: %d of %d count, want %d of %d", what, d, w, different, waiting)
		}
	}
	ask("a", "coat", "shirt", false, 1, 0)
	ask("b", "coat", "shirt", false, 3, .3)
	counts("alike", 2, 1)
	ask("c", "coat", "dress", false, 1, 0)
	ask("d", "shirt", "coat", false, 1, 0)
	ask("e", "coat", "shirt", true, 1, 0)
	ask("f", "coat", "shirt", false, 0, 1)
	ask("g", "coat", "shirt", false, 1, 0, 0)
	counts("about other names, of no name, unlike, of another dimension", 7, 6)
	var order []string
	for _, r := range q.Take("ann", 10) {
		order = append(order, r.ID)
	}
	if !slices.Equal(order, []string{"g", "f", "e", "d", "c", "b", "a"}) {
		t.Errorf("asked in the order %v", order)
	}
	q.labelled("b", "coat", "")
	counts("answered", 6, 5)
	ask("h", "coat", "shirt", false, 1, .1)
	counts("like an answered one", 7, 5)
	ask("b", "coat", "shirt", false, 3, .3) // it is undone while it is asked again
	q.forgotten("b")
	counts("asked again", 8, 5)
	q.labelled("f", "coat", "")
	counts("answered", 7, 4)
	q.forgotten("f")
	counts("undone", 8, 5)
}
