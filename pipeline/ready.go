package pipeline

import (
	"errors"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/health"
)

// troubles lists the faults that stop the stage's work now.
func (s *Stage) troubles(now time.Time) (list []health.Trouble) {
	list = append(s.start.Troubles(now), s.brokers.Troubles(now)...)
	if found := s.partitions.Stuck(now, s.options.StallAfter); len(found) > 0 {
		doing, cause := s.failing(found[0])
		found[0].Doing = doing
		for i, one := range found {
			t := health.Trouble{Of: health.OfPartition, What: one.String(), Do: health.Remedy(cause)}
			if i == 0 && cause != nil {
				t.Cause = cause.Error()
			}
			list = append(list, t)
		}
	}
	list = append(list, s.partitions.Transactions(now, s.options.StallAfter)...)
	list = append(list, s.memory.Troubles()...)
	list = append(list, s.topicSettings.troubles()...)
	embeddings, _ := s.streams.Troubles(now)
	list = append(list, embeddings...)
	if err := s.labelsUnread(now); err != nil {
		t := health.Trouble{
			Of:    health.OfLabels,
			What:  "the labels topic " + s.options.Labels + " cannot be read on",
			Cause: err.Error(),
			Do: "see that its brokers can read it and that READ on it is allowed, or make it again: it is read from " +
				"its start then",
		}
		if s.metrics.ready.Load() {
			t.What += ", and the labels read before stay in force"
		}
		if open := (*topic.Undecided)(nil); errors.As(err, &open) {
			t.Do = health.Remedy(err)
		}
		list = append(list, t)
	}
	return append(list, s.records.Troubles(now, s.options.StallAfter)...)
}

// labelsUnread returns why the labels topic cannot be read now; nil: it can be, or soon may be, or no topic can.
func (s *Stage) labelsUnread(now time.Time) error {
	f := s.client.Failing(topic.TopicPartition{}, s.options.Labels)
	lasting, _ := s.brokers.CutOff(now)
	if lasting > 0 || topic.CauseOf(f.Err) != topic.Denied && now.Sub(f.Since) < s.options.StallAfter {
		return nil
	}
	return f.Err
}

// failing returns the operation that a stuck partition waits for, and the error that blocks it;
// nil: none known.
func (s *Stage) failing(one health.Stuck) (doing string, cause error) {
	if waits, ok := s.options.Decode.Schemas.(interface{ Waiting() error }); ok && one.Doing == "reading" {
		if err := waits.Waiting(); err != nil {
			return "waiting for the schema registry", err
		}
	}
	f := s.client.Failing(one.TopicPartition, s.options.Out, s.options.Dead, s.options.State)
	if f.Err == nil {
		return one.Doing, one.Cause
	}
	return f.What, f.Err
}

// Troubles lists the faults that stop the stage's work now.
func (m *Metrics) Troubles() []health.Trouble {
	if m.stopping.Load() {
		return nil
	}
	return m.stage.troubles(time.Now())
}

// Doubts lists streams that recently answered fewer than half of their labelled items right. The stage still
// answers them, but the answers may be useless. It also lists streams whose embedding changed, if most
// streams of their input are unchanged.
func (m *Metrics) Doubts() []health.Trouble {
	_, doubts := m.stage.streams.Troubles(time.Now())
	return doubts
}

// Ready returns "" if the labels are read, the stage takes part in its group, no partition is stuck and some
// of the input can be used; otherwise the reasons why not and what to do, one a line.
func (m *Metrics) Ready() string {
	var reasons []string
	for _, t := range m.Troubles() {
		if t.Cause != "" {
			t.What += ": " + t.Cause
		}
		if t.Do != "" {
			t.What += "; what to do: " + t.Do
		}
		reasons = append(reasons, t.What)
	}
	if len(reasons) == 0 && !m.ready.Load() {
		return "not at work yet, or stopping: the log says what it waits for"
	}
	return strings.Join(reasons, "\n")
}
