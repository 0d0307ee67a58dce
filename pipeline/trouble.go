package pipeline

import (
	"strings"
	"time"
)

// Trouble is what keeps a stage from doing its work, for a person to read.
type Trouble struct {
	What  string `json:"what"`
	Cause string `json:"cause"` // "": not known
	Do    string `json:"do"`    // what may be done
}

// troubles is what keeps the stage from doing its work at a moment, by the limit of its options.
func (s *Stage) troubles(now time.Time) []Trouble {
	var list []Trouble
	if t, ok := s.contact.trouble(now); ok {
		list = append(list, t)
	}
	if t, ok := s.contact.inputs(now); ok {
		list = append(list, t)
	}
	if found := s.progress.stuck(now, s.options.StallAfter); len(found) > 0 {
		_, cause := s.failing(found[0])
		for i, one := range found {
			t := Trouble{What: one.String(), Do: remedy(cause)}
			if i == 0 && cause != nil {
				t.Cause = cause.Error()
			}
			list = append(list, t)
		}
	}
	list = append(list, s.openTransactions(now)...)
	if t, ok := s.memory.trouble(); ok {
		list = append(list, t)
	}
	list = append(list, s.embeddings.troubles(now, true)...)
	if t, failed := s.labels.failed(); failed {
		list = append(list, t)
	}
	if t, ok := s.metrics.rejecting.trouble(now, s.options.StallAfter); ok {
		list = append(list, t)
	}
	return list
}

// failing is what a stuck partition waits for, and the error that it waits to go away; nil: none is known.
func (s *Stage) failing(one stuck) (doing string, cause error) {
	if waits, ok := s.options.Decode.Schemas.(interface{ Waiting() error }); ok && one.doing == "reading" {
		if err := waits.Waiting(); err != nil {
			return "waiting for the schema registry", err
		}
	}
	doing, cause = s.client.Failing(one.TopicPartition, s.options.Out, s.options.Dead, s.options.State)
	if cause == nil {
		cause = one.cause
	}
	if doing == "" {
		doing = one.doing
	}
	return doing, cause
}

// Troubles are what keeps the stage from doing its work now; none where all is well.
func (m *Metrics) Troubles() []Trouble {
	if !m.ready.Load() {
		return nil
	}
	return m.troubles()
}

// Doubts are the streams that lately answered fewer than half of the items right that people labelled. The
// stage does its work on them; that it may be of no use is for a person to know. So are streams whose
// embedding changed, where most streams of their input go on.
func (m *Metrics) Doubts() []Trouble {
	now := time.Now()
	return append(m.doubts.list(now), m.embeddings.troubles(now, false)...)
}

// Ready says whether the labels are read, the stage takes part in its group, no partition is stuck, and
// something of the input can be used: "" if so, else why not.
func (m *Metrics) Ready() string {
	if !m.ready.Load() {
		return "reading labels, or stopping"
	}
	var reasons []string
	for _, t := range m.troubles() {
		if t.Cause != "" {
			t.What += ": " + t.Cause
		}
		reasons = append(reasons, t.What)
	}
	return strings.Join(reasons, "\n")
}
