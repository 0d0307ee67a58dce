package consumer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// A generation whose leader did not find every topic, because one was just being deleted and created again,
// is abandoned: it has no partitions of any topic, although the topics are the same before and after.
func TestAGenerationWithoutATopicIsGivenUp(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	there, missing := brokertest.Topic(t, client, "there", 1, nil), brokertest.Name("missing")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	g := &membership{
		client: client, log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		settings: GroupSettings{ID: brokertest.Name("group"), Watch: time.Hour},
		own: func(ctx context.Context, _ Assignment) error {
			<-ctx.Done()
			return nil
		},
		fail: func(err error) { t.Error(err) },
	}
	g.settings.fill()
	if err := g.join(ctx, map[string]int{there: 1, missing: 1}); err != nil || ctx.Err() != nil {
		t.Fatal(errors.Join(err, ctx.Err()))
	}
	owned, stop := context.WithCancel(ctx)
	defer stop()
	g.own = func(ctx context.Context, a Assignment) error {
		if a.Topic == there {
			stop()
		}
		<-ctx.Done()
		return nil
	}
	if err := g.join(owned, map[string]int{there: 1}); err != nil || ctx.Err() != nil {
		t.Fatal(errors.Join(err, ctx.Err()))
	}
}
