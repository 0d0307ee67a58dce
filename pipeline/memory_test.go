package pipeline

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
)

// Random senders, with few and many dimensions, with models and keys that occur once or recur, taught or not,
// never exceed the budget, and all their items are answered.
func TestMemoryStaysBelowItsBudget(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			in := brokertest.Topic(t, client, "in", 2, nil)
			o := basics(client, in, newFeed(seed))
			o.Support = nil
			o.Limits = consumer.Limits{Size: 20, Age: time.Hour, Idle: 100 * time.Millisecond, Memory: 1 << 20}
			o.InFlight, o.FetchBytes = 1<<20, 256<<10
			o.Budget = 24 << 20
			records := manySenders(in, rand.New(rand.NewPCG(seed, 7)), 3000)
			stage, err := New(client, o)
			if err != nil {
				t.Fatal(err)
			}
			var mutex sync.Mutex
			most, checks := int64(0), 0
			stage.answers.Budget.Live = func() int64 {
				mutex.Lock()
				defer mutex.Unlock()
				u := stage.usage()
				most = max(most, u.Streams+u.Episodes)
				checks++
				return u.Streams + u.Episodes
			}
			stage.answers.Budget.Collect = func() {}
			run(t, stage)
			for from := 0; from < len(records); from += 250 {
				write(t, client, records[from:min(from+250, len(records))])
				checked := func() int {
					mutex.Lock()
					defer mutex.Unlock()
					return checks
				}
				before := checked()
				eventually(t, "answered and checked", func() bool { // senders are no faster than the stage and its checks
					return checked() > before+2 && stage.metrics.records.Sum() >= float64(min(from+250, len(records)))
				})
			}
			collect(t, client, o.Out, count(len(records)))
			mutex.Lock()
			defer mutex.Unlock()
			if most > o.Budget {
				t.Errorf("%d bytes in use, the budget is %d", most, o.Budget)
			}
			if stage.metrics.retired.Value("memory") == 0 {
				t.Errorf("no stream was given up, of %d bytes: the budget was never tried", most)
			}
		})
	}
}

// manySenders makes items of models of any dimension, of recurring streams and of streams that occur once.
func manySenders(name string, random *rand.Rand, n int) []record.Out {
	dimensions := []int{16, 64, 512, 4096}
	list := make([]record.Out, n)
	for i := range list {
		model := random.IntN(2 * len(dimensions))
		key := fmt.Sprintf("cam-%d-%d", model, random.IntN(4))
		if random.IntN(4) == 0 {
			key = fmt.Sprintf("once-%d", i)
		}
		vector := make([]float32, dimensions[model/2])
		for j := range vector {
			vector[j] = float32(random.NormFloat64())
		}
		list[i] = record.Out{
			Topic: name, Partition: -1, Key: []byte(key), Value: encode(vector),
			Headers: []record.Header{{Key: "model", Value: fmt.Appendf(nil, "model-%d", model)}},
		}
		if random.IntN(2) == 0 {
			label := record.Header{Key: "label", Value: fmt.Appendf(nil, "class-%d", random.IntN(8))}
			list[i].Headers = append(list[i].Headers, label)
		}
	}
	return list
}
