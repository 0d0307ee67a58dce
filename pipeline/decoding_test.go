package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/registry"
	"github.com/slkstream/slkstream/internal/topic"
)

// jsonRecord returns a record that holds a vector.
func jsonRecord(t *testing.T, in string, vector []float32) record.Out {
	t.Helper()
	value, err := json.Marshal(map[string]any{"vector": vector})
	if err != nil {
		t.Fatal(err)
	}
	return record.Out{Topic: in, Partition: -1, Key: []byte("cam"), Value: value}
}

// Malformed records at the start and a label of another dimension do not keep good records from being
// answered, neither on a cold start nor after a restart.
func TestRubbishFirst(t *testing.T) {
	t.Parallel()
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
	write(
		t,
		client,
		[]record.Out{jsonRecord(t, in, []float32{1, 2, 3}), {Topic: in, Partition: -1, Value: []byte(`{"objects":[]}`)}},
	)
	got := collect(t, client, o.Out, count(n+1))
	for i := range n {
		if a := got.answers[record.Source{Topic: in, Offset: int64(i + 2), Object: -1}.ID()]; len(a) != 1 {
			t.Errorf("good record %d: %d answers", i, len(a))
		}
	}
	// The label does not fit the feed either. A restarted stage may report that again.
	missing := map[string]bool{
		"neither JSON nor nv.Frame":                                    true,
		fmt.Sprintf("dimension 3, not %d", len(f.vector(0))):           true,
		"the example has dimension 3, and the feed's vectors of model": true,
	}
	for n := len(missing); len(missing) > 0; n++ {
		for _, letter := range read(t, client, o.Dead, n) {
			reason, _ := letter.Header(record.ErrorHeader)
			maps.DeleteFunc(missing, func(part string, _ bool) bool { return strings.Contains(string(reason), part) })
		}
	}
}

// Avro records wait while the schema registry is away, and all are answered when it is back. A record with an
// unknown schema ID goes to the dead letters.
func TestRegistryAway(t *testing.T) {
	t.Parallel()
	fake := srfake.New()
	defer fake.Close()
	const schema = `{"type":"record","name":"R","fields":[{"name":"embedding","type":{"type":"array","items":"float"}}]}`
	fake.SeedSchema("in-value", 1, 7, sr.Schema{Schema: schema, Type: sr.TypeAvro})
	var asked atomic.Int64
	fake.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if asked.Add(1) > 2 {
			return false
		}
		http.Error(w, "away", http.StatusBadGateway)
		return true
	})
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(46)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	schemas, err := registry.New(registry.Settings{URL: fake.URL(), Log: o.Log})
	if err != nil {
		t.Fatal(err)
	}
	o.Decode, o.WithVector = record.Options{Schemas: schemas}, true
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	framing := func(schema byte, payload []byte) []byte { return append([]byte{0, 0, 0, 0, schema}, payload...) }
	const n = 20
	records := []record.Out{{Topic: in, Partition: -1, Key: []byte("cam"), Value: framing(8, []byte("?"))}}
	for i := range n {
		payload, err := avro.MustParse(schema).Encode(map[string]any{"embedding": f.vector(i % classes)})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record.Out{Topic: in, Partition: -1, Key: []byte("cam"), Value: framing(7, payload)})
	}
	write(t, client, records)
	start(t, client, o)
	if got := collect(t, client, o.Out, count(n)); len(got.answers) != n {
		t.Errorf("%d of %d answered", len(got.answers), n)
	} else if a := got.answers[record.Source{Topic: in, Offset: 1, Object: -1}.ID()]; len(a[0].Vector) != 4*len(f.vector(0)) {
		t.Errorf("the result's vector is %d bytes long", len(a[0].Vector))
	}
	reason, _ := read(t, client, o.Dead, 1)[0].Header(record.ErrorHeader)
	if !strings.Contains(string(reason), "knows no schema 8") {
		t.Errorf("dead letter: %s", reason)
	}
}
