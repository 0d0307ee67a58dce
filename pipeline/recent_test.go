package pipeline

import (
	"testing"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/recent"
)

// Every answered item is kept with its answer, up to the bound in bytes.
func TestRecentItems(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(1)
	in := brokertest.Topic(t, client, "in", 2, nil)
	o := basics(client, in, f)
	o.Recent = recent.New(1 << 20)
	const n = 500
	write(t, client, f.records(in, 4, n))
	write(t, client, markers(in, 4))
	stop := start(t, client, o)
	s := collect(t, client, o.Out, count(n))
	stop()
	if items, _ := o.Recent.Reach(); items != n {
		t.Errorf("%d items of %d", items, n)
	}
	for id, answers := range s.answers {
		item := o.Recent.Find(id)[id]
		if item.Label != answers[0].Label || item.Stream != answers[0].Stream || len(item.Vector) != dimension {
			t.Errorf("%s: %+v, answered %+v", id, item, answers[0])
		}
	}
}
