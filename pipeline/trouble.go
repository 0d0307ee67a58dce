package pipeline

import (
	"strings"
	"time"
)

// Trouble describes a fault that stops part of a stage's work, for display.
type Trouble struct {
	What  string `json:"what"`
	Cause string `json:"cause"` // "": not known
	Do    string `json:"do"`    // the remedy
	Of    string `json:"-"`     // the label of slkstream_trouble; "": the stage is ready all the same
}

// Labels of slkstream_trouble.
const (
	ofBrokers, ofInput, ofTransaction, ofPartition = "brokers", "input", "transaction", "partition"
	ofLabels, ofMemory, ofEmbedding, ofRecords     = "labels", "memory", "embedding", "records"
)

// troubles lists the faults that stop the stage's work now.
func (s *Stage) troubles(now time.Time) (list []Trouble) {
	add := func(t Trouble, holds bool) {
		if holds {
			list = append(list, t)
		}
	}
	add(s.contact.trouble(now))
	add(s.contact.inputs(now))
	if found := s.progress.stuck(now, s.options.StallAfter); len(found) > 0 {
		doing, cause := s.failing(found[0])
		found[0].doing = doing
		for i, one := range found {
			t := Trouble{Of: ofPartition, What: one.String(), Do: remedy(cause)}
			if i == 0 && cause != nil {
				t.Cause = cause.Error()
			}
			list = append(list, t)
		}
	}
	list = append(list, s.openTransactions(now)...)
	add(s.memory.trouble())
	list = append(list, s.embeddings.troubles(now, true)...)
	if err := s.labels.Failing(); err != nil {
		add(Trouble{
			Of:    ofLabels,
			What:  "the labels topic " + s.options.Labels + " cannot be read, and the labels read before stay in force",
			Cause: err.Error(),
			Do:    "allow READ on it, or make it again: it is read from its start then",
		}, true)
	}
	add(s.metrics.rejecting.trouble(now, s.options.StallAfter))
	return list
}

// failing returns the operation that a stuck partition waits for, and the error that blocks it;
// nil: none known.
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

// Troubles lists the faults that stop the stage's work now.
func (m *Metrics) Troubles() []Trouble {
	if !m.ready.Load() {
		return nil
	}
	return m.stage.troubles(time.Now())
}

// Doubts lists streams that recently answered fewer than half of their labelled items right. The stage still
// answers them, but the answers may be useless. It also lists streams whose embedding changed, if most
// streams of their input are unchanged.
func (m *Metrics) Doubts() []Trouble {
	now := time.Now()
	return append(m.doubts.list(now), m.stage.embeddings.troubles(now, false)...)
}

// Ready returns "" if the labels are read, the stage takes part in its group, no partition is stuck and some
// of the input can be used; otherwise the reasons why not, one a line.
func (m *Metrics) Ready() string {
	if !m.ready.Load() {
		return "reading labels, or stopping"
	}
	var reasons []string
	for _, t := range m.Troubles() {
		if t.Cause != "" {
			t.What += ": " + t.Cause
		}
		reasons = append(reasons, t.What)
	}
	return strings.Join(reasons, "\n")
}
