package pipeline

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/admin"
	"github.com/slkstream/slkstream/producer"
)

// lower sets a topic's max.message.bytes.
func lower(t *testing.T, client *topic.Client, name string, most int) {
	t.Helper()
	k := client.Kafka()
	answer, err := k.IncrementalAlterConfigs(t.Context(), &kafka.IncrementalAlterConfigsRequest{
		Addr: k.Addr, Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
				Name: "max.message.bytes", Value: fmt.Sprint(most), ConfigOperation: kafka.ConfigOperationSet,
			}},
		}},
	})
	if err != nil || answer.Resources[0].Error != nil {
		t.Fatal(err, answer)
	}
}

// A state topic with a small record limit, set at the start or later, holds snapshots and journals split to
// that limit. Nothing is lost, and a new owner restores all of it.
func TestStateTopicTakesSmallRecords(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		for _, later := range []bool{false, true} {
			t.Run(fmt.Sprintf("once=%v later=%v", once, later), func(t *testing.T) {
				client := brokertest.Connect(t, brokertest.Brokers(t))
				f := newFeed(121)
				in := brokertest.Topic(t, client, "in", 1, nil)
				o := basics(client, in, f)
				o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
				o.State = brokertest.Topic(t, client, "state", 1, topic.StateSettings())
				if once {
					o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
				}
				if !later {
					lower(t, client, o.State, 10_000)
				}
				stop := start(t, client, o)
				write(t, client, append(f.records(in, 3, 600), markers(in, 3)...))
				collect(t, client, o.Out, count(600))
				if later {
					lower(t, client, o.State, 10_000)
				}
				write(t, client, append(f.records(in, 3, 600), markers(in, 3)...))
				collect(t, client, o.Out, count(1200))
				eventually(t, "saved", func() bool {
					list, faults, err := admin.ReadState(t.Context(), client, o.State, o.Group)
					if err != nil || len(faults) > 0 {
						t.Fatal(list, faults, err)
					}
					return len(list) == 3 && !slices.ContainsFunc(list, func(r admin.Remembered) bool {
						return r.Learned != r.Answered || r.Err != nil || r.Memory.Bytes < 10_000
					})
				})
				stop()
				write(t, client, append(f.records(in, 3, 60), markers(in, 3)...))
				start(t, client, o)
				collect(t, client, o.Out, count(1260))
			})
		}
	}
}

// A stream name that is too long is refused before it is stored, in whatever way it is given: the record is a
// dead letter, and the others are answered.
func TestLongNamesOfStreams(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600_000)
	for _, by := range []string{"header", "key", "marker"} {
		t.Run(by, func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(122)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
			bad := record.Out{Topic: in, Key: []byte("cam-0"), Value: encode(f.vector(0))}
			switch by {
			case "key":
				bad.Key = []byte(long[:60_000]) // within --max-key
			case "marker":
				bad.Value = []byte{}
				bad.Headers = []record.Header{{Key: record.MarkerHeader}, {Key: "cam", Value: []byte(long)}}
				o.Decode.StreamBy = "header:cam"
			case "header":
				bad.Headers = []record.Header{{Key: "cam", Value: []byte(long)}}
				o.Decode.StreamBy = "header:cam"
			}
			start(t, client, o)
			write(t, client, append([]record.Out{bad}, f.records(in, 1, 20)...))
			collect(t, client, o.Out, count(20))
			letter := read(t, client, o.Dead, 1)[0]
			if reason, _ := letter.Header(record.ErrorHeader); !strings.Contains(string(reason), "stream's name") {
				t.Errorf("%s", reason)
			}
		})
	}
}

// The journal fits a small record limit with as many models as are remembered, of the longest names, and the
// next owner still knows their dimensions.
func TestStateTopicTakesManyLongModels(t *testing.T) {
	t.Parallel()
	const models, limit = 100, 20_000
	var names [models]string
	random := rand.New(rand.NewPCG(1, 2))
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(123)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 3, Age: time.Hour, Memory: 64 << 20}
	o.State = brokertest.Topic(t, client, "state", 1, topic.StateSettings())
	o.Decode, o.Support = record.Options{Format: "json"}, nil
	lower(t, client, o.State, limit)
	item := func(model int, vector string) record.Out {
		value := fmt.Sprintf(`{"vector":%s,"model":%q}`, vector, names[model])
		return record.Out{Topic: in, Key: []byte("cam"), Value: []byte(value)}
	}
	var records []record.Out
	for model := range models {
		name := make([]byte, 512)
		for i := range name { // so that compression does not make it shorter
			name[i] = byte(random.Uint32())
		}
		names[model] = hex.EncodeToString(name)
		for range 3 {
			records = append(records, item(model, "[1,2,3]"))
		}
	}
	stop := start(t, client, o)
	write(t, client, records)
	collect(t, client, o.Out, count(3*models))
	eventually(t, "saved", func() bool {
		list, faults, err := admin.ReadState(t.Context(), client, o.State, o.Group)
		if err != nil || len(faults) > 0 {
			t.Fatal(faults, err)
		}
		return len(list) == models
	})
	stop()
	start(t, client, o)
	good := item(7, "[1,2,3]")
	write(t, client, []record.Out{item(7, "[1,2]"), good, good, good})
	collect(t, client, o.Out, count(3*models+3))
	reason, _ := read(t, client, o.Dead, 1)[0].Header(record.ErrorHeader)
	if !strings.Contains(string(reason), "3") {
		t.Errorf("%s", reason)
	}
}
