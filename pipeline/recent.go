package pipeline

import (
	"cmp"
	"context"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// keep makes the block of an episode's recent items. The partition adds it when it gets the answers.
func (j *job) keep(answers []stream.Answer) {
	if j.of.stage.options.Recent == nil {
		return
	}
	items := make([]recent.Item, len(answers))
	for i := range answers {
		a, it := &answers[i], &j.episode.Items[i]
		items[i] = recent.Item{
			ID: record.ResultOf(
				j.keys[i],
			), Name: cmp.Or(it.OwnName(), j.keys[i]), ItemID: it.ItemID, Key: it.Key, Stream: it.Stream, Track: it.Track, Model: it.Model, Time: it.Time,
			Label: a.Label, Class: a.Class, Confidence: a.Confidence, Unknown: a.Unknown, Taught: it.Label != "", Attributes: it.Attributes,
		}
	}
	j.kept = recent.NewBlock(items, func(i int) []float32 { return j.episode.Items[i].Vector })
	j.kept.Labels = j.labels
}

// recall corrects the recent items of a partition when the labels change, whatever the cause: an example, a
// rejection, a name, a name that is forgotten, or a change while an earlier owner had the partition. nil: recent
// items are not kept.
type recall struct {
	of         *ownership
	recent     *recent.Partition
	earlier    *earlier     // nil: items of earlier owners are not corrected
	correcting *correcting  // nil: recent items already carry the names of the labels in force
	records    []record.Out // corrections that told has not returned yet
}

// newRecall opens the partition's recent items.
func newRecall(of *ownership) *recall {
	s := of.stage.options.Recent
	if s == nil {
		return nil
	}
	return &recall{of: of, recent: s.Open(of.String())}
}

// begin starts to read what earlier owners answered; ctx ends it.
func (r *recall) begin(ctx context.Context) { r.readEarlier(ctx) }

// reading says whether that goes on.
func (r *recall) reading() bool { return r != nil && r.earlier != nil && r.earlier.read != nil }

// keep adds an episode's block to the recent items, if it has one.
func (r *recall) keep(j *job) {
	if j.kept == nil {
		return
	}
	recalled := r.recall(j.kept)
	r.recent.Add(j.kept)
	if recalled {
		r.recent.DropForgotten()
	}
}

// told returns the records of the corrections made since the last call.
func (r *recall) told() []record.Out {
	if r == nil {
		return nil
	}
	list := r.records
	r.records = nil
	return list
}

// keepRecent drops the items of partitions that are no longer assigned here.
func (s *Stage) keepRecent(assigned []topic.TopicPartition) {
	if s.options.Recent == nil {
		return
	}
	var names []string
	for _, tp := range assigned {
		names = append(names, tp.String())
	}
	s.options.Recent.Keep(names)
}
