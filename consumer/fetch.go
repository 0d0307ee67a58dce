package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Batch is one decoded fetch of a partition.
type Batch struct {
	Records []Record      // without those that hold nothing
	Next    int64         // offset after the batch
	End     int64         // end offset of what can be read now
	Waiting int64         // records beyond End, held back by an open transaction
	Bytes   int64         // size of the fetched records
	Time    time.Time     // timestamp of the last record
	Last    bool          // no batch follows
	Read    time.Duration // duration of the fetch; 0: it waited for new records
	Decoded time.Duration // duration of decoding
	// Dimensions of the models' vectors if they have changed with this batch, else nil.
	Dimensions map[string]int
}

// Bounds limit how far a partition is read.
type Bounds struct {
	Committed bool  // only up to the last stable offset
	End       int64 // exclusive; -1: without end
}

// Record is a decoded record: its items, or why it, or some of its objects, cannot be used, or both.
type Record struct {
	Raw      *record.Raw // nil unless some of it was rejected
	Offset   int64
	Time     time.Time // its timestamp
	Items    []record.Item
	Rejected *record.Rejection
	Empty    string // why it has no items, if that is not a fault
	Marker   bool
	Stream   string // of a marker
}

// Fetch reads a partition and sends decoded batches to out until ctx ends, reading fails permanently, or the
// bounds are reached, which is not an error. At the end of the partition it sends empty batches.
func Fetch(ctx context.Context, reader *topic.Reader, decoder *record.Decoder, bounds Bounds, out chan<- *Batch) error {
	keys := keyCache{}
	var items []record.Item
	if bounds.End >= 0 && reader.Position() >= bounds.End {
		return send(ctx, out, &Batch{Next: reader.Position(), End: bounds.End, Last: true})
	}
	more := false // records are available without waiting
	for {
		begin := time.Now()
		raw, err := reader.Read(ctx)
		if err != nil {
			return err
		}
		read := time.Now()
		b := &Batch{Next: raw.Next, End: raw.HighWatermark}
		if more {
			b.Read = read.Sub(begin)
		}
		if bounds.Committed && raw.LastStable >= 0 {
			b.End, b.Waiting = raw.LastStable, raw.HighWatermark-raw.LastStable
		}
		if bounds.End >= 0 && b.Next >= bounds.End {
			b.Next, b.End, b.Waiting, b.Last = bounds.End, bounds.End, 0, true
			raw.Before(bounds.End)
		}
		items = make([]record.Item, 0, len(raw.Records))
		b.Records = make([]Record, 0, len(raw.Records))
		decoder.NextFetch()
		for i := range raw.Records {
			r := &raw.Records[i]
			b.Bytes += int64(r.Size())
			b.Time = r.Time
			from := len(items)
			items, err = decode(ctx, decoder, r, items)
			d := Record{Offset: r.Offset, Time: r.Time, Items: items[from:len(items):len(items)], Marker: r.Marker()}
			if len(d.Items) > 0 {
				key := keys.keep(r.Key) // shared by all objects of a frame
				for i := range d.Items {
					d.Items[i].Key = key
				}
			}
			if err != nil {
				var rejected *record.Rejection
				var empty *record.Empty
				switch {
				case errors.As(err, &rejected):
					d.Rejected, d.Raw = rejected, copied(r)
				case errors.As(err, &empty):
					d.Empty = empty.Reason
				default:
					return err
				}
			}
			if d.Marker {
				d.Stream = decoder.Stream(r)
			}
			if len(d.Items) > 0 || d.Rejected != nil || d.Empty != "" || d.Marker {
				b.Records = append(b.Records, d)
			}
		}
		reader.Recycle(raw)
		b.Dimensions = decoder.Agreed()
		b.Decoded = time.Since(read)
		more = b.Next < b.End
		if err := send(ctx, out, b); err != nil || b.Last {
			return err
		}
	}
}

// decode decodes a record. A record that makes the decoder panic is rejected.
func decode(ctx context.Context, decoder *record.Decoder, r *record.Raw, items []record.Item) (list []record.Item, err error) {
	before := len(items)
	defer func() {
		if p := recover(); p != nil {
			list, err = items[:before], &record.Rejection{Fault: record.Unreadable, Reason: fmt.Sprintf("the decoder panicked: %v", p)}
		}
	}()
	return decoder.Decode(ctx, r, items)
}

func send(ctx context.Context, out chan<- *Batch, b *Batch) error {
	select {
	case out <- b:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// copied returns a copy that owns its memory, because the fetch's buffer is reused.
func copied(r *record.Raw) *record.Raw {
	c := *r
	c.Key, c.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	c.Headers = make([]record.Header, len(r.Headers))
	for i, h := range r.Headers {
		c.Headers[i] = record.Header{Key: h.Key, Value: bytes.Clone(h.Value)}
	}
	return &c
}

// keyCache keeps one copy of each of the few keys that most records repeat. Long keys are unlikely to repeat
// and are copied each time.
type keyCache map[string][]byte

func (c keyCache) keep(key []byte) []byte {
	if key == nil {
		return nil
	}
	if kept, ok := c[string(key)]; ok {
		return kept
	}
	const most, longest = 1 << 14, 256
	kept := bytes.Clone(key)
	if len(key) > longest {
		return kept
	}
	if len(c) >= most {
		clear(c)
	}
	c[string(key)] = kept
	return kept
}
