package pipeline

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// lines is a log that tests read.
type lines struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(text string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Count(l.text.String(), text)
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// metric returns one line of a scrape, or "".
func metric(m *Metrics, begin string) string {
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, begin) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// An output that refuses everything is reported: the stage is not ready, logs cause and remedy once, restarts
// its partitions with growing delays, and counts nothing as answered. When the output accepts records again,
// all of that ends.
func TestTroubleShows(t *testing.T) {
	t.Parallel()
	for name, once := range map[string]bool{"at least once": false, "exactly once": true} {
		t.Run(name, func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(71)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
			// The topic's settings refuse even the smallest result and its dead letter.
			o.Out = brokertest.Topic(t, client, "out", 1, map[string]string{"max.message.bytes": "80"})
			o.Dead = brokertest.Topic(t, client, "dead", 1, map[string]string{"max.message.bytes": "80"})
			o.StallAfter = 1500 * time.Millisecond
			said := &lines{}
			o.Log = slog.New(slog.NewTextHandler(said, nil))
			o.Delivery = &producer.AtLeastOnce{Client: client, Log: o.Log}
			if once {
				o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			}
			s, err := New(client, o)
			if err != nil {
				t.Fatal(err)
			}
			run(t, s)
			eventually(t, "ready", func() bool { return s.metrics.Ready() == "" })
			const n = 40
			write(t, client, f.records(in, 1, n))
			eventually(t, "not ready", func() bool { return strings.Contains(s.metrics.Ready(), in+"/0") })
			eventually(t, "said", func() bool { return said.count("has not got on") > 0 })
			eventually(t, "how old the oldest is", func() bool { // 0 while the partition begins again
				got := metric(s.metrics, "slkstream_oldest_unacknowledged_seconds")
				return strings.Contains(got, in) && !strings.HasSuffix(got, " 0")
			})
			eventually(t, "lag", func() bool { return strings.HasSuffix(metric(s.metrics, "slkstream_lag_records"), " 40") })
			time.Sleep(3 * time.Second) // subject: whether restarts accumulate in a time in which they must not
			if got := s.metrics.restarts.Sum(); got > 20 {
				t.Errorf("%v restarts", got)
			}
			if n := said.count("level=ERROR"); n > 4 {
				t.Errorf("%d errors were said", n)
			}
			if got := s.metrics.records.Sum(); got != 0 {
				t.Errorf("%v records counted", got)
			}
			if got := metric(s.metrics, `slkstream_trouble{of="partition"}`); !strings.HasSuffix(got, " 1") {
				t.Errorf("%q", got)
			}
			raise(t, client, o.Out)
			raise(t, client, o.Dead)
			collect(t, client, o.Out, count(n))
			eventually(t, "ready again", func() bool { return s.metrics.Ready() == "" })
			if got := metric(s.metrics, `slkstream_trouble{of="partition"}`); !strings.HasSuffix(got, " 0") {
				t.Errorf("%q, ready again", got)
			}
			eventually(t, "counted once", func() bool { return s.metrics.records.Sum() == n })
			eventually(t, "no lag", func() bool { return strings.HasSuffix(metric(s.metrics, "slkstream_lag_records"), " 0") })
		})
	}
}

// raise lets a topic accept records of a megabyte.
func raise(t *testing.T, client *topic.Client, name string) {
	t.Helper()
	k := client.Kafka()
	answer, err := k.IncrementalAlterConfigs(context.Background(), &kafka.IncrementalAlterConfigsRequest{
		Addr: k.Addr, Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{
				{Name: "max.message.bytes", Value: "1000000", ConfigOperation: kafka.ConfigOperationSet},
			},
		}},
	})
	if err != nil || answer.Resources[0].Error != nil {
		t.Fatal(err, answer)
	}
}
