package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/producer"
)

// noted is a committer that stores what it is called with.
type noted struct {
	producer.Committer
	commits chan *producer.Commit
}

func (n *noted) Commit(_ context.Context, c *producer.Commit) error {
	n.commits <- c
	return nil
}

// A hand-over commits what is answered although an episode is not, and nothing else happens meanwhile.
func TestHandOverDoesNotWaitForAnEpisodeThatLasts(t *testing.T) {
	t.Parallel()
	committer := &noted{commits: make(chan *producer.Commit, 8)}
	s := &Stage{
		metrics: newMetrics(new(health.Watch)),
		options: Options{Commits: Commits{DrainTimeout: 2 * time.Second, CommitInterval: time.Hour}},
	}
	p := owned(s, committer)
	begin(t, p, 3, nil)
	p.commit(false) // the next one with an offset is an hour away
	<-committer.commits
	if err := p.acknowledge(<-p.ledger.Done()); err != nil {
		t.Fatal(err)
	}
	p.ledger.Write(make([]record.Out, 1))
	p.answering.Save(new(answering.Stream)) // never ends
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
