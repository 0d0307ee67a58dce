package answering

import (
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Observer sees each answered episode. It is called from several goroutines, in order within a stream. It
// must not block, nor change its argument.
type Observer interface {
	Answered(*Observed)
}

// Observed is an episode with its answers.
type Observed struct {
	Episode *consumer.Episode
	Results []record.Result
	Reviews []record.Review // items whose labels would teach most; vectors and attributes are shared
	Report  stream.Report
	Solved  *solver.Result  // the solve itself, valid during the call only
	Graph   *index.Affinity // of the solve
	Labels  *taught.Labels  // in force when it was answered
	Unknown int
	Took    time.Duration
}

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

// Trace returns the job's episode, acknowledged now.
func (j *Job) Trace(now time.Time) *Trace {
	t := &Trace{
		Stream: j.Episode.Key.Name, Episode: j.Report.Episode, Count: len(j.Episode.Items),
		Reason: string(j.Episode.Closed), Closed: j.At, Solve: j.Took, Acknowledged: now,
	}
	for i := range j.Episode.Items {
		if context := j.Episode.Items[i].Trace; context.Parent != "" {
			t.Items = append(t.Items, context)
		}
	}
	return t
}
