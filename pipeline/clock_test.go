package pipeline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
)

// Cameras whose clocks are years ahead or behind are answered like all others. Brokers accept and keep their
// results, they close no other episodes, and no stream is evicted.
func TestOddClocks(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(51)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Decode = record.Options{}
	o.Limits = consumer.Limits{Size: 10, Age: 5 * time.Second, Memory: 64 << 20}
	o.StateTTL, o.StateInterval = time.Hour, 100*time.Millisecond
	o.Episodes = brokertest.Topic(t, client, "episodes", 1, nil)
	now := time.Now()
	clocks := map[string]time.Time{"good": now, "ahead": time.Date(2130, 1, 1, 0, 0, 0, 0, time.UTC), "behind": time.Unix(0, 0)}
	const each = 40
	var records []record.Out
	for i := range each {
		for _, name := range []string{"good", "ahead", "behind"} {
			value, err := json.Marshal(
				map[string]any{
					"vector": f.vector(i % classes),
					"time":   clocks[name].Add(time.Duration(i) * 10 * time.Millisecond).UTC().Format(time.RFC3339Nano),
				},
			)
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, record.Out{Topic: in, Partition: 0, Key: []byte(name), Value: value})
		}
	}
	write(t, client, records)
	stop := start(t, client, o)
	collect(t, client, o.Out, count(3*each))
	for _, r := range read(t, client, o.Out, 3*each) {
		if age := time.Since(r.Time); age < -time.Minute || age > time.Hour {
			t.Errorf("a result's timestamp is %v, %v ago", r.Time, age)
		}
		var result record.Result
		if err := json.Unmarshal(r.Value, &result); err != nil {
			t.Fatal(err)
		}
		told, _ := r.Header(record.TimeHeader)
		if at, err := time.Parse(time.RFC3339Nano, string(told)); err != nil || !at.Equal(result.Time) {
			t.Errorf("header %q, time %v", told, result.Time)
		}
	}
	for _, r := range read(t, client, o.Episodes, 3*each/10) {
		var e record.Episode
		if err := json.Unmarshal(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		if e.Closed != string(consumer.Size) {
			t.Errorf("an episode of %s closed by %s", e.Stream, e.Closed)
		}
	}
	stop()
	start(t, client, o)
	write(t, client, records[:30])
	collect(t, client, o.Out, count(3*each+30))
	for _, r := range read(t, client, o.Episodes, 3*each/10+3)[3*each/10:] {
		var e record.Episode
		if err := json.Unmarshal(r.Value, &e); err != nil {
			t.Fatal(err)
		}
		if !e.Warm || e.Episode != each/10+1 {
			t.Errorf("episode %d of %s, warm %v: the stream was retired", e.Episode, e.Stream, e.Warm)
		}
	}
}
