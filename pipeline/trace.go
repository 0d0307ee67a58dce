package pipeline

import (
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Trace is an answered episode for a tracer.
type Trace struct {
	Stream       string
	Episode      int64
	Count        int    // items
	Reason       string // why the episode closed
	Closed       time.Time
	Solve        time.Duration
	Acknowledged time.Time
	Items        []record.TraceContext // of items whose senders set one
}

func (j *job) trace(now time.Time) *Trace {
	t := &Trace{
		Stream: j.episode.Key.Name, Episode: j.report.Episode, Count: len(j.episode.Items),
		Reason: string(j.episode.Closed), Closed: j.at, Solve: j.took, Acknowledged: now,
	}
	for i := range j.episode.Items {
		if context := j.episode.Items[i].Trace; context.Parent != "" {
			t.Items = append(t.Items, context)
		}
	}
	return t
}
