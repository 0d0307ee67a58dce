package pipeline

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/producer"
)

// refusing has one commit of records refused, as if another owner had the partition.
type refusing struct {
	producer.Delivery
	left atomic.Int32
}

func (r *refusing) Claim(ctx context.Context, c producer.Claim) (producer.Committer, int64, error) {
	committer, offset, err := r.Delivery.Claim(ctx, c)
	return &refusingCommitter{committer, r}, offset, err
}

type refusingCommitter struct {
	producer.Committer
	by *refusing
}

func (r *refusingCommitter) Commit(ctx context.Context, c *producer.Commit) error {
	if len(c.Records) > 0 && r.by.left.Add(-1) >= 0 {
		return producer.ErrFenced
	}
	return r.Committer.Commit(ctx, c)
}

// After a refusal that the group does not repeat, the stage does not wait without end.
func TestRefusedAndStillOwner(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(84)
	o := basics(client, brokertest.Topic(t, client, "in", 1, nil), f)
	o.Session, o.Rebalance = session, 2*session
	delivery := &refusing{Delivery: o.Delivery}
	delivery.left.Store(1)
	o.Delivery = delivery
	start(t, client, o)
	write(t, client, f.records(o.In[0], 1, 40))
	read(t, client, o.Out, 40)
}
