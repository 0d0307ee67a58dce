package main

import (
	"encoding/json"
	"sync"
	"time"
)

// mostWait bounds the time from a good record's writing, or from the end of the last outage, to its answer.
const mostWait = time.Minute

// waits tracks which good records wait for their answers, and for how long.
type waits struct {
	h         *history
	mu        sync.Mutex
	pending   map[string]waiting
	known     map[string]bool // ids that were answered
	positions map[int32]int64 // of the output: next position to read
	outages   int             // present ones
	total     counts
	recovered time.Time // end of the last outage
}

type waiting struct {
	topic   string
	sent    time.Time
	since   time.Time // when it was sent, or the end of the last outage since
	overdue bool
}

// counts are the totals of the good records.
type counts struct {
	sent, results, repeats, gone, overdue int
	oldest, longest, longestAfter         time.Duration // oldest: of those waiting now
}

func newWaits(h *history) *waits {
	return &waits{h: h, pending: map[string]waiting{}, known: map[string]bool{}, positions: map[int32]int64{}}
}

// sent adds records that are about to be written.
func (w *waits) sent(ids []string, topic string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, id := range ids {
		w.pending[id] = waiting{topic: topic, sent: now, since: now}
	}
	w.total.sent += len(ids)
}

// result removes the record of a result.
func (w *waits) result(value []byte) {
	var result struct {
		ItemID string `json:"itemId"`
	}
	if err := json.Unmarshal(value, &result); err != nil {
		w.h.violation("strange: %.200q is no result: %v", value, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := result.ItemID
	p, ok := w.pending[id]
	switch {
	case ok:
		delete(w.pending, id)
		w.known[id] = true
		w.total.results++
		now := time.Now()
		w.total.longest = max(w.total.longest, now.Sub(p.sent))
		if w.outages == 0 {
			w.total.longestAfter = max(w.total.longestAfter, now.Sub(p.since))
		}
	case w.known[id]:
		w.total.repeats++
	}
}

// begin and over enclose an outage. At its end, the allowed wait of waiting records starts again.
func (w *waits) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outages++
}

func (w *waits) over() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outages--
	w.recovered = time.Now()
	for id, p := range w.pending {
		p.since = w.recovered
		w.pending[id] = p
	}
}

// forget drops the waiting records of a deleted topic.
func (w *waits) forget(topic string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, p := range w.pending {
		if p.topic == topic {
			delete(w.pending, id)
			w.total.gone++
		}
	}
}

// late reports whether a record waits longer than mostWait, and adds a violation for each.
func (w *waits) late() (found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outages > 0 {
		return false
	}
	for id, p := range w.pending {
		if time.Since(p.since) < mostWait {
			continue
		}
		found = true
		if p.overdue {
			continue
		}
		p.overdue = true
		w.pending[id] = p
		if w.total.overdue++; w.total.overdue <= 20 {
			w.h.violation("late: %s of %s has waited for %v, %v of it in peace", id, p.topic,
				time.Since(p.sent).Round(time.Second), time.Since(p.since).Round(time.Second))
		}
	}
	return found
}

// left returns the number of waiting records.
func (w *waits) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.pending)
}

func (w *waits) counts() counts {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.total
	for _, p := range w.pending {
		c.oldest = max(c.oldest, time.Since(p.sent))
	}
	return c
}

// read stores the position read up to in a partition of the output; rewind forgets all of them, for
// a new topic.
func (w *waits) read(partition int32, offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.positions[partition] = offset
}

func (w *waits) position(partition int32) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.positions[partition]
}

func (w *waits) rewind() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.positions)
}
