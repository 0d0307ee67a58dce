package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// kindHeader names the kind of an input record, for the checks; the stage ignores it.
const kindHeader = "chaos-kind"

// sentHeader holds the wall-clock time at which a record was sent.
const sentHeader = "chaos-sent"

// stamp adds sentHeader to records about to be sent.
func stamp(records []record.Out) []record.Out {
	now := []byte(time.Now().Format(time.RFC3339Nano))
	for i := range records {
		records[i].Headers = append(records[i].Headers, record.Header{Key: sentHeader, Value: now})
	}
	return records
}

// Kinds of input records.
const (
	kindItem   = "item"   // must be answered
	kindPoison = "poison" // must become a dead letter
	kindMarker = "marker" // ends an episode
)

// feedSettings describe an input.
type feedSettings struct {
	Topic      string
	Partitions int
	Streams    int
	Records    int
	Dimension  int
	Classes    int
	Poison     float64       // share of records that cannot be read
	Hostile    float64       // share of harmful records; see hostile
	Label      float64       // share of items with a label
	Marker     float64       // share of records that end an episode
	Step       time.Duration // event time between records
}

// feed makes input and labels from a seed alone.
type feed struct {
	feedSettings
	random *rand.Rand
	begin  time.Time
	n      int
	once   int // streams with one record each; see strangers
}

func newFeed(seed uint64, s feedSettings) *feed {
	return &feed{s, rand.New(rand.NewPCG(seed, 0)), time.Now().Add(-time.Minute).Truncate(time.Second), 0, 0}
}

// support returns examples of every class.
func (f *feed) support() []example {
	var all []example
	for c := range f.Classes {
		for i := range 3 {
			all = append(all, example{fmt.Sprintf("s-%d-%d", c, i), className(c), f.vector(c)})
		}
	}
	return all
}

type example struct {
	ID     string    `json:"id"`
	Label  string    `json:"label"`
	Vector []float32 `json:"vector"`
}

func className(c int) string { return fmt.Sprintf("class-%d", c) }

func (f *feed) vector(class int) []float32 {
	v := make([]float32, f.Dimension)
	for i := range v {
		v[i] = .4 * float32(f.random.NormFloat64())
	}
	v[class%f.Dimension] += 2
	return v
}

// next makes the next n records, or the fewer that are left.
func (f *feed) next(n int) []record.Out {
	var out []record.Out
	for ; n > 0 && f.n < f.Records; n-- {
		stream := f.random.IntN(f.Streams)
		value, kind := raw(f.vector(f.random.IntN(f.Classes))), kindItem
		var headers []record.Header
		if f.Hostile > 0 && f.random.Float64() < f.Hostile {
			out = append(out, f.hostile(stream, value))
			f.n++
			continue
		}
		switch {
		case f.random.Float64() < f.Poison:
			value, kind = f.poison(value), kindPoison
		case f.random.Float64() < f.Label:
			headers = append(headers, record.Header{Key: "label", Value: []byte(className(f.random.IntN(f.Classes)))})
		case f.random.Float64() < f.Marker:
			value, kind = []byte{}, kindMarker
			headers = append(headers, record.Header{Key: record.MarkerHeader})
		}
		out = append(out, f.record(stream, value, kind, headers))
		f.n++
	}
	return out
}

// ends returns markers that close every stream, in every partition its key has ever had.
func (f *feed) ends() []record.Out {
	var out []record.Out
	for s := range f.Streams {
		for p := range f.Partitions {
			marker := f.record(s, []byte{}, kindMarker, []record.Header{{Key: record.MarkerHeader}})
			marker.Partition = int32(p)
			out = append(out, marker)
		}
	}
	return out
}

// strangers returns one record each of n new streams, each with a new model. The records end their episodes.
func (f *feed) strangers(n int) (out []record.Out) {
	for range n {
		f.once++
		r := f.record(
			0,
			raw(f.vector(f.random.IntN(f.Classes))),
			kindItem,
			[]record.Header{{Key: "model", Value: fmt.Appendf(nil, "model-%d", f.once)}},
		)
		r.Key = fmt.Appendf(nil, "stranger-%d", f.once)
		r.Partition = topic.Partition(r.Key, 0, f.Partitions)
		end := f.record(0, []byte{}, kindMarker, []record.Header{{Key: record.MarkerHeader}})
		end.Key, end.Partition = r.Key, r.Partition
		out = append(out, r, end)
	}
	return out
}

func (f *feed) record(stream int, value []byte, kind string, headers []record.Header) record.Out {
	key := fmt.Appendf(nil, "cam-%d", stream)
	partition := topic.Partition(key, 0, f.Partitions)
	return record.Out{
		Topic: f.Topic, Partition: partition, Key: key, Value: value,
		Headers: append(headers, record.Header{Key: kindHeader, Value: []byte(kind)}),
		Time:    f.begin.Add(time.Duration(f.n) * f.Step),
	}
}

// largestResult is the size limit of the output in a history with hostile senders.
const largestResult = 20_000

// largestRecord is the size limit of records that its stages decode.
const largestRecord = 64 << 10

// hostile makes a record that harms a stage which trusts it: a clock that is off by years either way,
// attributes too large for the output, a record that is too large, or rubbish.
func (f *feed) hostile(stream int, value []byte) record.Out {
	odd := func(header string) record.Out {
		return f.record(stream, value, kindItem, []record.Header{{Key: "time", Value: []byte(header)}})
	}
	switch f.random.IntN(6) {
	case 0:
		return odd("2130-01-01T00:00:00Z")
	case 1:
		return odd("1971-01-01T00:00:00Z")
	case 2, 3:
		long := bytes.Repeat([]byte("x"), largestResult+f.random.IntN(largestResult))
		return f.record(stream, value, kindItem, []record.Header{{Key: record.AttributePrefix + "note", Value: long}})
	case 4:
		return f.record(stream, make([]byte, largestRecord+1+f.random.IntN(largestRecord)), kindPoison, nil)
	default:
		rubbish := make([]byte, 4*f.random.IntN(f.Dimension))
		for i := range rubbish {
			rubbish[i] = byte(f.random.Uint32())
		}
		return f.record(stream, append(rubbish, 0), kindPoison, nil)
	}
}

// bomb returns a record that inflates far beyond the decoding limit.
func (f *feed) bomb() record.Out {
	return f.record(f.random.IntN(f.Streams), make([]byte, 8<<20), kindPoison, nil)
}

// poison corrupts a good value in one of several ways.
func (f *feed) poison(value []byte) []byte {
	switch f.random.IntN(5) {
	case 0:
		return value[:len(value)-1]
	case 1:
		binary.LittleEndian.PutUint32(value, math.Float32bits(float32(math.NaN())))
		return value
	case 2:
		binary.LittleEndian.PutUint32(value[4:], math.Float32bits(float32(math.Inf(-1))))
		return value
	case 3:
		return make([]byte, len(value))
	default:
		return append(value, 0, 0, 128, 63)
	}
}

func raw(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// lesson returns a record of the labels topic: an example to teach or, sometimes, to forget.
func (f *feed) lesson(labels string) record.Out {
	id := fmt.Sprintf("taught-%d", f.random.IntN(20))
	out := record.Out{
		Topic: labels, Partition: -1, Key: []byte(id), Time: time.Now(),
		Headers: []record.Header{{Key: "content-type", Value: []byte("application/json")}},
	}
	if f.random.IntN(3) > 0 {
		class := f.random.IntN(f.Classes)
		out.Value, _ = json.Marshal(example{id, className(class), f.vector(class)}) // finite numbers and text
	}
	return out
}
