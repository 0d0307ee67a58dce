// Package corrections corrects recent items when the labels change, whatever the cause: an example, a rejection, a name, a name
// that is forgotten, or a change while an earlier owner had the partition.
package corrections

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// Settings say what corrections work with.
type Settings struct {
	Client      *topic.Client
	Store       *recent.Store
	Labels      *labels.Topic
	Results     string            // topic
	Form        record.ResultForm // of results
	Corrections string            // topic; "": none, and recent items keep their names unless those are forgotten
	Counted     telemetry.Counter // corrections, by kind
}

// Partition keeps the recent items of a partition, and corrects them.
type Partition struct {
	extension.Nothing
	settings   *Settings
	of         topic.TopicPartition
	log        *slog.Logger
	recent     *recent.Partition
	earlier    *earlier      // nil: items of earlier owners are not corrected
	correcting *correcting   // nil: recent items already carry the names of the labels in force
	records    []record.Out  // corrections that Records has not returned yet
	items      []recent.Item // of the last episode
}

// New opens the recent items of a partition. before is what earlier owners answered; nil: not known. Nothing may have
// been written for the partition yet.
func New(
	ctx context.Context, s *Settings, of topic.TopicPartition, before *extension.Earlier, log *slog.Logger,
) (*Partition, error) {
	r := &Partition{settings: s, of: of, log: log, recent: s.Store.Open(of.String())}
	if before == nil || s.Corrections == "" {
		return r, nil
	}
	written, err := s.Client.Spans(ctx, false, s.Results, s.Corrections)
	r.earlier = &earlier{Earlier: before, written: written, called: map[string]string{}}
	return r, err
}

// Begin implements extension.Extension: it starts to read what earlier owners answered.
func (r *Partition) Begin(ctx context.Context) error {
	r.readEarlier(ctx)
	return nil
}

// Answered implements extension.Extension: it adds the episode to the recent items.
func (r *Partition) Answered(e *extension.Answered) {
	n := len(e.Answers)
	items := slices.Grow(r.items[:0], n)[:n] // a block copies what it needs of them
	if r.items = items; n > longEpisode {
		r.items = nil
	}
	for i := range items {
		a, it := &e.Answers[i], &e.Episode.Items[i]
		items[i] = recent.Item{
			ID: record.ResultOf(e.Keys[i]), Name: cmp.Or(it.OwnName(), e.Keys[i]), ItemID: it.ItemID, Key: it.Key,
			Stream: it.Stream, Track: it.Track, Model: it.Model, Time: it.Time,
			Label: a.Label, Class: a.Class, Confidence: a.Confidence, Unknown: a.Unknown,
			Taught: it.Label != "", Attributes: it.Attributes,
		}
	}
	block := r.recent.Block(items, func(i int) []float32 { return e.Episode.Items[i].Vector })
	block.Labels = e.Labels
	forgotten := r.setLastKnown(block)
	r.recent.Add(block)
	if forgotten { // it looks at all that is kept: not for every episode that is learned again
		r.recent.DropForgotten()
	}
}

// longEpisode is the longest episode whose memory is used again.
const longEpisode = 4096

// Labelled implements extension.Extension: it corrects items that were answered by other labels.
func (r *Partition) Labelled(inForce *labels.Version) time.Duration {
	switch {
	case r.correct(inForce):
		return time.Millisecond
	case r.earlier != nil && r.earlier.read != nil:
		return readingEvery
	}
	return 0
}

// readingEvery is how often to look whether what earlier owners answered is read.
const readingEvery = 100 * time.Millisecond

// Records implements extension.Extension.
func (r *Partition) Records() []record.Out {
	list := r.records
	r.records = nil
	return list
}
