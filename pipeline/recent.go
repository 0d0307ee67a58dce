package pipeline

import (
	"fmt"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// keep makes the recent items of an episode, which its partition keeps once it is told of the answers.
func (j *job) keep(answers []stream.Answer) {
	if j.stream.partition.recent == nil {
		return
	}
	items := make([]recent.Item, len(answers))
	for i := range answers {
		a, it := &answers[i], &j.episode.Items[i]
		items[i] = recent.Item{
			ID: it.ID(), Name: it.Name(), Key: it.Key, Stream: it.Stream, Track: it.Track, Model: it.Model, Time: it.Time,
			Label: a.Label, Confidence: a.Confidence, Unknown: a.Unknown, Taught: it.Label != "", Attributes: it.Attributes,
		}
	}
	j.kept = recent.NewBlock(items, func(i int) []float32 { return j.episode.Items[i].Vector })
	j.kept.Labels = j.labels
}

// keep keeps the items of an episode.
func (p *partition) keep(b *recent.Block) {
	if b != nil {
		p.recall(b)
		p.recent.Add(b)
	}
}

// openRecent begins to keep the partition's items.
func (p *partition) openRecent() {
	if s := p.stage.options.Recent; s != nil {
		p.recent = s.Open(recentName(topic.TopicPartition{Topic: p.topic, Partition: p.number}))
	}
}

// keepRecent forgets the items of partitions that others own now.
func (s *Stage) keepRecent(assigned []topic.TopicPartition) {
	if s.options.Recent == nil {
		return
	}
	var names []string
	for _, tp := range assigned {
		names = append(names, recentName(tp))
	}
	s.options.Recent.Keep(names)
}

func recentName(tp topic.TopicPartition) string { return fmt.Sprintf("%s/%d", tp.Topic, tp.Partition) }
