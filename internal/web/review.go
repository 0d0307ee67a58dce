package web

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/record"
)

const (
	// how long an item is held for one person: long enough to look at, short enough to go to others soon
	heldFor = 2 * time.Minute
	// items that can wait for a person; older ones are in the review topic, if there is one
	keptQuestion = 1000
	keptTaught   = 200 // labels of this session that are kept
	keptGone     = 20  // answered items that an undo can bring back: as many as a tab remembers
)

// question is an item that waits for a label.
type question struct {
	review  record.Review
	again   bool   // a later question, or one that a person has answered, asks the same
	holder  string // who has it now; "": no one
	until   time.Time
	skipped map[string]bool // people who skipped it
}

// lesson is a label that was given in this session.
type lesson struct {
	ID    string    `json:"id"`
	Label string    `json:"label"`
	Guess string    `json:"guess,omitempty"` // the stage's answer; empty if it is not known
	Time  time.Time `json:"time"`
	Since int64     `json:"since"` // items answered with this label since
}

// questions are the items that the stage asks people about, and what people taught in this session. Each is
// shown to one person at a time. It is safe for concurrent use.
type questions struct {
	mu      sync.Mutex
	now     func() time.Time
	waiting []*question // oldest first
	bytes   int
	taught  []*lesson             // latest last
	gone    []*question           // answered by people, the latest last: undone, they wait again
	counts  map[string]int64      // answered items by label, without clusters
	doubts  map[[2]string]float64 // expected wrong answers between each pair of labels
}

// newQuestions returns an empty queue.
func newQuestions() *questions {
	return &questions{now: time.Now, counts: map[string]int64{}, doubts: map[[2]string]float64{}}
}

// Ask adds copies of items that people should label, the newest last. Beyond a bound the oldest are dropped.
func (q *questions) Ask(reviews ...record.Review) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range reviews {
		// copies, as the originals would keep their batch in memory
		r.Vector, r.Attributes = slices.Clone(r.Vector), slices.Clone(r.Attributes)
		// a repeat has the newer answer
		q.remove(func(w *question) bool { return w.review.ID == r.ID })
		w := &question{review: r, skipped: map[string]bool{}}
		w.again = slices.ContainsFunc(q.gone, func(before *question) bool { return before.like(w) })
		q.repeated(w)
		q.waiting = append(q.waiting, w)
		q.bytes += reviewBytes(&r)
	}
	for len(q.waiting) > keptQuestion || q.bytes > keptBytes {
		q.bytes -= reviewBytes(&q.waiting[0].review)
		q.waiting = q.waiting[1:]
	}
}

// repeated notes that a question asks what some that wait asked before it.
func (q *questions) repeated(w *question) {
	for _, before := range q.waiting {
		before.again = before.again || before.like(w)
	}
}

// sameNear is how near vectors of unit length are at least, as a cosine, for one label to answer for both: it teaches half as much
// about the other as about its own, by the rule by which a stage chooses what it asks about.
const sameNear = .827

// like says whether a person who answers one question has answered the other: it is about the same two names, and the items are
// alike.
func (w *question) like(o *question) bool {
	a, b := &w.review, &o.review
	return a.Guess.Unknown == b.Guess.Unknown && a.Guess.Label == b.Guess.Label &&
		likeliest(a.Guess.Alternatives) == likeliest(b.Guess.Alternatives) && a.Model == b.Model && len(a.Vector) == len(b.Vector) &&
		float64(kernel.Dot(a.Vector, b.Vector)) >=
			sameNear*math.Sqrt(float64(kernel.Dot(a.Vector, a.Vector))*float64(kernel.Dot(b.Vector, b.Vector)))
}

func reviewBytes(r *record.Review) int { return 512 + 4*len(r.Vector) + len(r.Attributes) }

// remove removes the questions for which gone is true and returns the last of them.
func (q *questions) remove(gone func(*question) bool) (removed *question) {
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

// Take gives a person up to n items, the newest first: those that the person already holds, then free ones, those that ask the same
// as another last. It leaves out items that others hold and those that the person has skipped.
func (q *questions) Take(holder string, n int) []record.Review {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	var held, free, again []record.Review
	for i := len(q.waiting) - 1; i >= 0; i-- {
		w := q.waiting[i]
		taken := w.holder != "" && now.Before(w.until)
		switch {
		case w.skipped[holder], taken && w.holder != holder:
		case taken && len(held) < n:
			held = append(held, w.review)
		case !taken && w.again:
			again = append(again, w.review)
		case !taken:
			free = append(free, w.review)
		}
	}
	free = append(free, again...)
	out := append(held, free[:min(len(free), n-len(held))]...)
	for _, w := range q.waiting {
		if slices.ContainsFunc(out, func(r record.Review) bool { return r.ID == w.review.ID }) {
			w.holder, w.until = holder, now.Add(heldFor)
		}
	}
	return out
}

// Skip records that a person does not know an item: it goes to others, and not to this person again. It
// returns false if the item is not waiting.
func (q *questions) Skip(holder, id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.of(id)
	if w == nil {
		return false
	}
	if len(w.skipped) < 100 {
		w.skipped[holder] = true
	}
	w.holder = ""
	return true
}

// of returns the question about an item, by its key or its result's id; nil: it is not waiting.
func (q *questions) of(id string) *question {
	for _, w := range q.waiting {
		if w.review.ID == id || w.review.Guess.Result == id {
			return w
		}
	}
	return nil
}

// find returns the waiting item with an id.
func (q *questions) find(id string) (record.Review, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.of(id); w != nil {
		return w.review, true
	}
	return record.Review{}, false
}

// labelled removes an item from the queue and records its label.
func (q *questions) labelled(id, label, guess string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.takeOut(id); w != nil {
		guess = w.review.Guess.Label
	}
	q.taught = append(q.taught, &lesson{ID: id, Label: label, Guess: guess, Time: q.now()})
	if len(q.taught) > keptTaught {
		q.taught = q.taught[1:]
	}
}

// takeOut removes an item from the queue, and keeps it in case its answer is undone.
func (q *questions) takeOut(id string) *question {
	w := q.remove(func(w *question) bool { return w.review.ID == id })
	if w != nil {
		q.repeated(w)
		q.gone = append(q.gone[max(0, len(q.gone)-keptGone+1):], w)
	}
	return w
}

// forgotten deletes what was taught under an id from the session. If it was asked about, it is asked again.
func (q *questions) forgotten(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taught = slices.DeleteFunc(q.taught, func(t *lesson) bool { return t.ID == id })
	at := slices.IndexFunc(q.gone, func(w *question) bool { return w.review.ID == id })
	if at >= 0 && q.of(id) == nil {
		q.waiting = append(q.waiting, q.gone[at])
		q.bytes += reviewBytes(&q.gone[at].review)
		q.gone = slices.Delete(q.gone, at, at+1)
	}
}

// forget drops the questions whose guess is one of these labels or classes, what people taught with them, and
// their names elsewhere.
func (q *questions) forget(labels map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove(func(w *question) bool { return labels[w.review.Guess.Label] || labels[w.review.Guess.Class] })
	q.gone = nil
	q.taught = slices.DeleteFunc(q.taught, func(t *lesson) bool { return labels[t.Label] })
	for _, w := range q.waiting {
		w.review.Guess.Alternatives = without(w.review.Guess.Alternatives, labels)
	}
	for label := range labels {
		delete(q.counts, label)
	}
	maps.DeleteFunc(q.doubts, func(pair [2]string, _ float64) bool { return labels[pair[0]] || labels[pair[1]] })
}

// Named counts answers by label, so that people see the effect of what they taught and find
// the usual labels first.
func (q *questions) Named(results []record.Result) {
	q.mu.Lock()
	defer q.mu.Unlock()
	counts := map[string]int64{}
	for i := range results {
		q.doubt(&results[i])
		if !results[i].Unknown && !strings.HasPrefix(results[i].Label, "cluster-") {
			counts[results[i].Label]++
		}
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

// doubt adds up the confidence of an item's alternatives.
func (q *questions) doubt(r *record.Result) {
	const least = .1 // lower confidence does not count; most answers have no higher
	for _, other := range r.Alternatives {
		if r.Unknown || !(other.Confidence >= least) {
			continue
		}
		pair := [2]string{min(r.Label, other.Label), max(r.Label, other.Label)}
		if _, known := q.doubts[pair]; known || len(q.doubts) < mostLabels {
			q.doubts[pair] += other.Confidence
		}
	}
}

// confused returns, for each label, the one that it is most often confused with.
func (q *questions) confused() map[string]confusedView {
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

// used returns the number of answered items by label, and the labels that were taught in this session.
func (q *questions) used() (counts map[string]int64, said []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range q.taught {
		said = append(said, t.Label)
	}
	return maps.Clone(q.counts), said
}

// session returns how many items wait, how many of them ask different things, and what was taught, the latest first.
func (q *questions) session() (waiting, different int, said []lesson) {
	q.mu.Lock()
	defer q.mu.Unlock()
	said = []lesson{}
	for _, t := range slices.Backward(q.taught) {
		said = append(said, *t)
	}
	for _, w := range q.waiting {
		if !w.again {
			different++
		}
	}
	return len(q.waiting), different, said
}

// waitingBy returns the number of waiting items that ask different things, by stream.
func (q *questions) waitingBy() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	by := map[string]int{}
	for _, w := range q.waiting {
		if !w.again {
			by[w.review.Stream]++
		}
	}
	return by
}

// rejected removes an item from the queue after a person has said what it is not.
func (q *questions) rejected(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.takeOut(id)
}
