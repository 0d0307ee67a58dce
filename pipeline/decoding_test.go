package pipeline

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// jsonRecord is a record that holds a vector.
func jsonRecord(t *testing.T, in string, vector []float32) record.Out {
	t.Helper()
	value, err := json.Marshal(map[string]any{"vector": vector})
	if err != nil {
		t.Fatal(err)
	}
	return record.Out{Topic: in, Partition: -1, Key: []byte("cam"), Value: value}
}

// Rubbish that comes first, and a label of another dimension, cost no good record its answer: neither on a cold start nor
// after a restart.
func TestRubbishFirst(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(45)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support, o.Decode = nil, record.Options{}
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Idle: 200 * time.Millisecond, Memory: 64 << 20}
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	label, err := json.Marshal(map[string]any{"label": "odd", "vector": []float32{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, client, []record.Out{{Topic: o.Labels, Partition: -1, Key: []byte("odd"), Value: label}})
	unknown := record.Out{Topic: in, Partition: -1, Key: []byte("cam"), Value: []byte("\x00\x01\x02\x03\xff\xfe\xfd\xfc")}
	write(t, client, []record.Out{unknown, jsonRecord(t, in, []float32{1, 2, 3, 4, 5, 6, 7})})
	stop := start(t, client, o)
	collect(t, client, o.Out, count(1)) // the odd one, alone
	const n = 45
	var records []record.Out
	for i := range n {
		records = append(records, jsonRecord(t, in, f.vector(i%classes)))
	}
	write(t, client, records[:20])
	collect(t, client, o.Out, count(21))
	stop()
	start(t, client, o)
	write(t, client, records[20:])
	write(t, client, []record.Out{jsonRecord(t, in, []float32{1, 2, 3}), {Topic: in, Partition: -1, Value: []byte(`{"objects":[]}`)}})
	got := collect(t, client, o.Out, count(n+1))
	for i := range n {
		if a := got.answers[record.Source{Topic: in, Offset: int64(i + 2), Object: -1}.ID()]; len(a) != 1 {
			t.Errorf("good record %d: %d answers", i, len(a))
		}
	}
	for i, l := range read(t, client, o.Dead, 2) {
		reason, _ := l.Header(record.ErrorHeader)
		if want := []string{"neither JSON nor nv.Frame", fmt.Sprintf("dimension 3, not %d", len(f.vector(0)))}[i]; !strings.Contains(string(reason), want) {
			t.Errorf("dead letter %d: %s", i, reason)
		}
	}
}

func TestLabelledDimensions(t *testing.T) {
	l := labelledDimensions{}
	for _, d := range []int{8, 3, 8, 3, 8} {
		l.add("m", d)
	}
	l.add("n", 9)
	l.add("n", 4)
	if most := l.most(); most["m"] != (labelledDimension{8, 3}) || most["n"] != (labelledDimension{4, 1}) {
		t.Errorf("%v", most)
	}
}
