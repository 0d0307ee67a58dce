package pipeline

import (
	"testing"
	"time"

	"slkstream/consumer"
	"slkstream/internal/broker/brokertest"
)

// The whole stage on the embedded broker, from record to acknowledged result.
func BenchmarkStage(b *testing.B) {
	client := brokertest.Connect(b, brokertest.Brokers(b))
	f := newFeed(1)
	in := brokertest.Topic(b, client, "in", 4, nil)
	o := basics(client, in, f)
	o.StateInterval = 10 * time.Second
	o.Limits = consumer.Limits{Size: 100, Age: time.Hour, Memory: 64 << 20}
	const streams = 32
	n := max(b.N, 1000)
	for from := 0; from < n; from += 5000 {
		write(b, client, f.records(in, streams, min(5000, n-from)))
	}
	write(b, client, markers(in, streams))
	b.ResetTimer()
	start(b, client, o)
	collect(b, client, o.Out, count(n))
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}
