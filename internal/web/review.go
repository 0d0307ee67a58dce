package web

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

const (
	// how long an item is one person's: long enough to look, short enough to be given on
	heldFor = 2 * time.Minute
	// items that wait for a person at most; older ones are in the review topic, if there is one
	keptQuestion = 1000
	keptTaught   = 200 // of what was taught in this session
)

// question is an item that waits for a person's label.
type question struct {
	review  record.Review
	holder  string // who looks at it now; "": nobody
	until   time.Time
	skipped map[string]bool // who did not know it either
}

// taught is a label that was given in this session.
type taught struct {
	ID    string    `json:"id"`
	Label string    `json:"label"`
	Guess string    `json:"guess,omitempty"` // what the stage had said; empty where it had not been asked
	Time  time.Time `json:"time"`
	Since int64     `json:"since"` // items that were given this label since
}

// Questions are the items that the stage asks people about, and what they said in this session. Each is shown
// to one person at a time. It is safe for any number of goroutines.
type Questions struct {
	mu      sync.Mutex
	now     func() time.Time
	waiting []*question // oldest first
	bytes   int
	taught  []*taught             // latest last
	counts  map[string]int64      // of items by what they are called, clusters left out
	doubts  map[[2]string]float64 // of pairs of labels, the answers that are expected to be wrong between them
}

// NewQuestions returns an empty queue.
func NewQuestions() *Questions { return &Questions{now: time.Now} }

// Ask adds items that people should label, the newest last, and keeps copies. Beyond a bound the oldest go.
func (q *Questions) Ask(reviews ...record.Review) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range reviews {
		// not to keep the batch they came in
		r.Vector, r.Attributes = slices.Clone(r.Vector), slices.Clone(r.Attributes)
		// a repeat carries the newer answer
		q.remove(func(w *question) bool { return w.review.ID == r.ID })
		q.waiting = append(q.waiting, &question{review: r})
		q.bytes += reviewBytes(&r)
	}
	for len(q.waiting) > keptQuestion || q.bytes > keptBytes {
		q.bytes -= reviewBytes(&q.waiting[0].review)
		q.waiting = q.waiting[1:]
	}
}

func reviewBytes(r *record.Review) int { return 512 + 4*len(r.Vector) + len(r.Attributes) }

// remove takes out the questions of which gone is true and returns the last of them.
func (q *Questions) remove(gone func(*question) bool) (removed *question) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w *question) bool {
		if !gone(w) {
			return false
		}
		removed = w
		q.bytes -= reviewBytes(&w.review)
		return true
	})
	return removed
}

// Take gives a person up to n items, the newest first: those that the person holds already, then some that
// nobody does. What somebody else holds, or the person has skipped, is not among them.
func (q *Questions) Take(holder string, n int) []record.Review {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	var held, free []record.Review
	for i := len(q.waiting) - 1; i >= 0; i-- {
		w := q.waiting[i]
		taken := w.holder != "" && now.Before(w.until)
		switch {
		case w.skipped[holder], taken && w.holder != holder:
		case taken && len(held) < n:
			held = append(held, w.review)
		case !taken:
			free = append(free, w.review)
		}
	}
	out := append(held, free[:min(len(free), n-len(held))]...)
	for _, w := range q.waiting {
		if slices.ContainsFunc(out, func(r record.Review) bool { return r.ID == w.review.ID }) {
			w.holder, w.until = holder, now.Add(heldFor)
		}
	}
	return out
}

// Skip says that a person does not know an item: it goes to others, and not to this one again. It is false
// where nobody was asked about it.
func (q *Questions) Skip(holder, id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.waiting {
		if w.review.ID == id {
			if w.skipped == nil {
				w.skipped = map[string]bool{}
			}
			if len(w.skipped) < 100 {
				w.skipped[holder] = true
			}
			w.holder = ""
			return true
		}
	}
	return false
}

// find returns the item that people are asked about under an id.
func (q *Questions) find(id string) (record.Review, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.waiting {
		if w.review.ID == id {
			return w.review, true
		}
	}
	return record.Review{}, false
}

// answered takes an item out of the queue and remembers what was said of it.
func (q *Questions) answered(id, label, guess string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.remove(func(w *question) bool { return w.review.ID == id }); w != nil {
		guess = w.review.Guess.Label
	}
	q.taught = append(q.taught, &taught{ID: id, Label: label, Guess: guess, Time: q.now()})
	if len(q.taught) > keptTaught {
		q.taught = q.taught[1:]
	}
}

// forgotten takes what was said of an item back.
func (q *Questions) forgotten(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taught = slices.DeleteFunc(q.taught, func(t *taught) bool { return t.ID == id })
}

// forget drops the questions that the stage would answer with these labels, and what people said of them.
func (q *Questions) forget(labels map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(func(w *question) bool { return labels[w.review.Guess.Label] })
	q.taught = slices.DeleteFunc(q.taught, func(t *taught) bool { return labels[t.Label] })
	for label := range labels {
		delete(q.counts, label)
	}
}

// Named counts answers by label, so that people see what came of what they said and find the usual labels first.
func (q *Questions) Named(results []record.Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := map[string]int64{}
	for i := range results {
		q.doubt(&results[i])
		if !results[i].Unknown && !strings.HasPrefix(results[i].Label, "cluster-") {
			counts[results[i].Label]++
		}
	}
	if q.counts == nil {
		q.counts = map[string]int64{}
	}
	for label, n := range counts {
		if _, known := q.counts[label]; known || len(q.counts) < mostLabels {
			q.counts[label] += n
		}
	}
	for _, t := range q.taught {
		t.Since += counts[t.Label]
	}
}

// doubt counts what else an item might have been.
func (q *Questions) doubt(r *record.Result) {
	const least = .1 // what is less is no doubt, and most answers have no more
	for _, other := range r.Alternatives {
		if r.Unknown || !(other.Confidence >= least) {
			continue
		}
		pair := [2]string{min(r.Label, other.Label), max(r.Label, other.Label)}
		if _, known := q.doubts[pair]; known || len(q.doubts) < mostLabels {
			if q.doubts == nil {
				q.doubts = map[[2]string]float64{}
			}
			q.doubts[pair] += other.Confidence
		}
	}
}

// confused is, for each label, the one that it is confused with most.
func (q *Questions) confused() map[string]confusedView {
	q.mu.Lock()
	defer q.mu.Unlock()
	most := map[string]confusedView{}
	for pair, items := range q.doubts {
		for i, label := range pair {
			other := confusedView{pair[1-i], items}
			if m := most[label]; items > m.Items || items == m.Items && other.Label < m.Label {
				most[label] = other
			}
		}
	}
	return most
}

// used are the items by what they are called, and the labels that were taught in this session.
func (q *Questions) used() (counts map[string]int64, said []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.taught {
		said = append(said, t.Label)
	}
	return maps.Clone(q.counts), said
}

// session is how many items wait and what was taught, latest first.
func (q *Questions) session() (waiting int, said []taught) {
	q.mu.Lock()
	defer q.mu.Unlock()
	said = make([]taught, 0, len(q.taught))
	for i := len(q.taught) - 1; i >= 0; i-- {
		said = append(said, *q.taught[i])
	}
	return len(q.waiting), said
}

// waitingBy are the items that wait, by stream.
func (q *Questions) waitingBy() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	by := map[string]int{}
	for _, w := range q.waiting {
		by[w.review.Stream]++
	}
	return by
}

// rejected takes an item out of the queue of which a person has said what it is not.
func (q *Questions) rejected(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(func(w *question) bool { return w.review.ID == id })
}
