package labels

import (
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// waiting is since when a transaction holds back each partition.
type waiting struct {
	since    []time.Time // zero: none does
	reported bool
}

// add takes a partition's next batch. It returns whether the report has changed, and the new one; nil: no
// transaction has held back the topic for long.
func (w *waiting) add(o Options, partition int, batch *topic.Batch) (report error, changed bool) {
	switch {
	case !batch.Undecided():
		w.since[partition] = time.Time{}
		open := slices.ContainsFunc(w.since, func(t time.Time) bool { return !t.IsZero() })
		if w.reported && !open {
			w.reported = false
			return nil, true
		}
	case w.since[partition].IsZero():
		w.since[partition] = time.Now()
	case !w.reported && time.Since(w.since[partition]) >= o.Patience:
		w.reported = true
		return &topic.Undecided{Topic: o.Topic, Partition: int32(partition), Offset: batch.LastStable}, true
	}
	return nil, false
}
