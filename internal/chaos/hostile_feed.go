package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// kindEither is a record that is answered or becomes a dead letter, depending on a limit.
const kindEither = "either"

// hostileFeed makes good records as JSON, and records that harm a stage which trusts them.
type hostileFeed struct {
	random *rand.Rand
	good   *feed // source of vectors
	at     func() time.Time
	n      int // number of ids used
}

// next makes one record, harmful with probability share, and returns the ids by which it must be answered.
func (f *hostileFeed) next(share float64) ([]record.Out, []string) {
	if f.random.Float64() < share {
		return f.harmful()
	}
	name := inTopic
	if f.random.IntN(5) == 0 {
		name = besideTopic
	}
	return f.item(name, nil)
}

// item makes a good record. change, if not nil, may corrupt its fields.
func (f *hostileFeed) item(name string, change func(members map[string]any, r *record.Out)) ([]record.Out, []string) {
	f.n++
	id := fmt.Sprint("item-", f.n)
	members := map[string]any{"id": id, "vector": f.vector(), "time": f.at().UTC().Format(time.RFC3339Nano)}
	r := f.record(name, nil, kindItem)
	if change != nil {
		change(members, &r)
	}
	r.Value, _ = json.Marshal(members) // cannot fail: text, numbers and maps of them
	return []record.Out{r}, []string{id}
}

func (f *hostileFeed) vector() string {
	return base64.StdEncoding.EncodeToString(raw(f.good.vector(f.random.IntN(f.good.Classes))))
}

func (f *hostileFeed) record(name string, value []byte, kind string) record.Out {
	return record.Out{
		Topic: name, Partition: -1, Key: fmt.Appendf(nil, "cam-%d", f.random.IntN(scenarioStreams)), Value: value,
		Time:    f.at(),
		Headers: []record.Header{{Key: kindHeader, Value: []byte(kind)}},
	}
}

// harmful makes a record with one of the harms that a sender alone can do.
func (f *hostileFeed) harmful() ([]record.Out, []string) {
	long := func(n int) string { return strings.Repeat("x", n+f.random.IntN(n)) }
	switch f.random.IntN(14) {
	case 0: // clocks
		return f.item(inTopic, func(m map[string]any, _ *record.Out) { m["time"] = "2130-01-01T00:00:00Z" })
	case 1:
		return f.item(inTopic, func(m map[string]any, _ *record.Out) { m["time"] = "1971-01-01T00:00:00Z" })
	case 2:
		return f.item(inTopic, func(m map[string]any, r *record.Out) {
			delete(m, "time")
			r.Time = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
		})
	case 3: // attributes that make a result too large for its topic
		return f.item(inTopic, func(m map[string]any,
			_ *record.Out,
		) {
			m["attributes"] = map[string]string{"note": long(usualMessage)}
		})
	case 4:
		return f.item(inTopic, func(_ map[string]any, r *record.Out) {
			r.Headers = append(r.Headers, record.Header{Key: "traceparent", Value: []byte(long(usualMessage))})
		})
	case 5:
		return f.item(inTopic, func(_ map[string]any, r *record.Out) {
			r.Headers = append(r.Headers, record.Header{Key: "note", Value: []byte(long(usualMessage))})
		})
	case 6:
		r := f.record(inTopic, []byte(`{"id":"long","vector":[1,2,3]}`), kindPoison)
		r.Key = []byte("long-" + long(30_000))
		return []record.Out{r}, nil
	case 7: // invented names
		return f.item(inTopic, func(m map[string]any, _ *record.Out) {
			m["model"] = fmt.Sprint("model-", f.n, "-",
				long(400))
		})
	case 8:
		return f.item(inTopic, func(_ map[string]any, r *record.Out) { r.Key = fmt.Appendf(nil, "stream-%d", f.n) })
	case 9: // records that cannot be answered
		return []record.Out{f.record(inTopic, f.bytes(4*(1+f.random.IntN(64))), kindPoison)}, nil
	case 10:
		r := f.record(inTopic, []byte(`{"id":"short","vector":[1,2,3]}`), kindPoison)
		r.Key = []byte("large-" + long(usualMessage))
		return []record.Out{r}, nil
	case 11:
		r := f.record(inTopic, []byte(`{"vector":`), kindPoison)
		r.Headers = append(r.Headers, record.Header{Key: "note", Value: []byte(long(usualMessage))})
		return []record.Out{r}, nil
	case 12:
		return f.frame(long(4 << 20))
	default:
		return f.frame("")
	}
}

// frame makes an nv.Frame of many objects. A frame with a given id of its own is rejected for it.
func (f *hostileFeed) frame(id string) ([]record.Out, []string) {
	const objects = 200
	list := make([]map[string]any, objects)
	ids := make([]string, objects)
	for i := range list {
		f.n++
		ids[i] = fmt.Sprint("item-", f.n)
		list[i] = map[string]any{"id": ids[i], "embedding": map[string]any{"vector": f.good.vector(f.random.IntN(f.good.Classes))}}
	}
	kind := kindEither
	if id != "" {
		kind, ids = kindPoison, nil
	} else {
		id = fmt.Sprint("frame-", f.n)
	}
	value, _ := json.Marshal(map[string]any{
		"version": "4.0", "id": id,
		"@timestamp": f.at().UTC().Format(time.RFC3339Nano), "sensorId": "lane", "objects": list,
	})
	return []record.Out{f.record(inTopic, value, kind)}, ids
}

// strangers returns records of n new streams, each with a new model.
func (f *hostileFeed) strangers(n int) (records []record.Out, ids []string) {
	for range n {
		r, id := f.item(inTopic, func(m map[string]any, r *record.Out) {
			m["model"] = fmt.Sprint("model-", f.n, "-", strings.Repeat("y", 200))
			r.Key = fmt.Appendf(nil, "stranger-%d", f.n)
		})
		records, ids = append(records, r...), append(ids, id...)
	}
	return records, ids
}

// bomb returns a record of n zeros, which compress to nearly nothing.
func (f *hostileFeed) bomb(n int) []record.Out {
	return []record.Out{f.record(inTopic, make([]byte, n), kindPoison)}
}

// noise returns a record of n random bytes.
func (f *hostileFeed) noise(n int) []record.Out {
	return []record.Out{f.record(inTopic, f.bytes(n), kindPoison)}
}

func (f *hostileFeed) bytes(n int) []byte {
	some := make([]byte, min(n, 1<<16))
	for i := range some {
		some[i] = byte(f.random.Uint32())
	}
	some[0] = 0x81 // not JSON
	return bytes.Repeat(some, (n+len(some)-1)/len(some))[:n]
}

// badLesson returns an example with another dimension than the feed's, or one that cannot be read.
func (f *hostileFeed) badLesson(labels string) record.Out {
	f.n++
	value := []byte(`{"label":"class-1","vector":[1,2`)
	if f.random.IntN(2) == 0 {
		value, _ = json.Marshal(map[string]any{"label": "class-0", "vector": make([]float32, 7+f.random.IntN(9))})
	}
	return record.Out{
		Topic: labels, Partition: -1, Key: fmt.Appendf(nil, "bad-%d", f.n), Value: value, Time: f.at(),
		Headers: []record.Header{{Key: "content-type", Value: []byte("application/json")}},
	}
}
