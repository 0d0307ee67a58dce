package consumer

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// A generation whose leader did not find every topic, because one was just being deleted and created again,
// is abandoned: it has no partitions of any topic, although the topics are the same before and after.
func TestAGenerationWithoutATopicIsGivenUp(t *testing.T) {
	t.Parallel()
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
	g.member = newMember(client, &g.settings)
	if g.join(ctx, map[string]int{there: 1, missing: 1}); ctx.Err() != nil {
		t.Fatal(ctx.Err())
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
	if g.join(owned, map[string]int{there: 1}); ctx.Err() != nil {
		t.Fatal(ctx.Err())
	}
}

// A stop does not wait for brokers that leave a request of the group without an answer.
func TestStopWhileTheGroupDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	name := brokertest.Topic(t, client, "in", 1, nil)
	joining, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	var once sync.Once
	server.Cluster.ControlKey(int16(kmsg.JoinGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		once.Do(func() { close(joining) })
		server.Cluster.SleepControl(func() { <-release })
		return nil, nil, false
	})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		s := GroupSettings{ID: brokertest.Name("group"), Topics: []string{name}, Session: 5 * time.Minute}
		own := func(context.Context, Assignment) error { return nil }
		ended <- Work(ctx, client, s, slog.New(slog.DiscardHandler), own)
	}()
	<-joining
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for the answer")
	}
}
