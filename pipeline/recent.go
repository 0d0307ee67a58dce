package pipeline

import (
	"cmp"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// keep makes the block of an episode's recent items. The partition adds it when it gets the answers.
func (j *job) keep(answers []stream.Answer) {
	if j.stream.partition.recent == nil {
		return
	}
	items := make([]recent.Item, len(answers))
	for i := range answers {
		a, it := &answers[i], &j.episode.Items[i]
		items[i] = recent.Item{
			ID: record.ResultOf(
				j.places[i],
			), Name: cmp.Or(it.OwnName(), j.places[i]), ItemID: it.ItemID, Key: it.Key, Stream: it.Stream, Track: it.Track, Model: it.Model, Time: it.Time,
			Label: a.Label, Class: a.Class, Confidence: a.Confidence, Unknown: a.Unknown, Taught: it.Label != "", Attributes: it.Attributes,
		}
	}
	j.kept = recent.NewBlock(items, func(i int) []float32 { return j.episode.Items[i].Vector })
	j.kept.Labels = j.labels
}

// keep adds an episode's block to the recent items; nil: nothing to add.
func (p *partition) keep(b *recent.Block) {
	if b != nil {
		recalled := p.recall(b)
		p.recent.Add(b)
		if recalled {
			p.recent.DropForgotten()
		}
	}
}

// openRecent opens the partition's recent items.
func (p *partition) openRecent() {
	if s := p.stage.options.Recent; s != nil {
		p.recent = s.Open(p.String())
	}
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
