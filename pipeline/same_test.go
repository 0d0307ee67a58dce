package pipeline

import (
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// Two groups that read the same input give the same answers, whichever worker solved which episode.
func TestSameInputSameAnswers(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(9)
	in := brokertest.Topic(t, client, "in", 2, nil)
	const n, streams = 3000, 6
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: 3 * time.Second, Memory: 64 << 20}
	write(t, client, f.records(in, streams, n))
	write(t, client, markers(in, streams))
	var runs []*sink
	for workers := 1; workers <= 4; workers += 3 {
		o.Group, o.Out, o.State, o.Dead, o.Workers = brokertest.Name("group"), brokertest.Name("out"), "", "", workers
		stop := start(t, client, o)
		runs = append(runs, collect(t, client, o.Out, count(n)))
		stop()
	}
	compare(t, runs[0], runs[1], n)
}
