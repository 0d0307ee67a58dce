package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/producer"
)

// A hand-over commits what is answered although an episode is not, and nothing else happens meanwhile.
func TestHandOverDoesNotWaitForAnEpisodeThatLasts(t *testing.T) {
	committer := &noted{commits: make(chan *producer.Commit, 8)}
	keeper := state.NewKeeper("group", "in", "state", 0, 1, state.NewLoader("group", "in").Restore())
	s := &Stage{metrics: newMetrics(), options: Options{DrainTimeout: 2 * time.Second}}
	s.metrics.stage = s
	p := &partition{
		stage: s, ctx: t.Context(), replay: newReplay(), commits: newCommits(committer, keeper, time.Hour, false),
		progress: (&health.Partitions{}).Assign(topic.TopicPartition{Topic: "in"}, time.Now()), works: func() {},
		inbox: inbox{wake: make(chan struct{}, 1)},
	}
	p.buffer = consumer.NewBuffer(consumer.Limits{Size: 1, Memory: 1 << 20}, p.close)
	p.commits.due = time.Now().Add(time.Hour) // the last commit was just now
	p.commits.next.answer(&job{
		episode: &consumer.Episode{Items: []record.Item{*item("a", 1)}},
		records: []record.Out{{Value: []byte("answer")}},
	})
	p.jobs = 1 // never ends
	if err := p.handOver(context.Canceled); err == nil {
		t.Error("an episode without an answer is not reported")
	}
	select {
	case c := <-committer.commits:
		if len(c.Records) != 1 || c.Offset < 0 {
			t.Errorf("%d records, offset %d", len(c.Records), c.Offset)
		}
	default:
		t.Error("the answer was not written, for the next owner to find it again")
	}
}
