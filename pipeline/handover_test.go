package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/producer"
)

// A hand-over commits what is answered although an episode is not, and nothing else happens meanwhile.
func TestHandOverDoesNotWaitForAnEpisodeThatLasts(t *testing.T) {
	t.Parallel()
	committer := &noted{commits: make(chan *producer.Commit, 8)}
	s := &Stage{
		metrics: newMetrics(new(health.Watch)),
		options: Options{Commits: Commits{DrainTimeout: 2 * time.Second, CommitInterval: time.Hour}},
	}
	p := owned(s, committer)
	p.ledger.commits.due = time.Now().Add(time.Hour) // the last commit was just now
	p.ledger.commits.next.answer(answeredJob())
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
