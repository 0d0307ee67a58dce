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

// Batch is what one fetch of a partition brought, decoded.
type Batch struct {
	Records []Record      // those that hold anything
	Next    int64         // offset of the record after all of this
	End     int64         // of the partition, as far as it may be read now
	Waiting int64         // records beyond End that wait for the end of a transaction
	Bytes   int64         // of what was fetched
	Time    time.Time     // of the last of them
	Last    bool          // nothing comes after it
	Read    time.Duration // how long the brokers took to hand it over, where it was there to be read; 0: it was waited for
	Decoded time.Duration // how long decoding took
	// Dimensions of the models' vectors, where they have changed with this batch, else nil.
	Dimensions map[string]int
}

// Bounds say what of a partition is read.
type Bounds struct {
	Committed bool  // no further than transactions are decided
	End       int64 // up to here; -1: for ever
}

// Record is a record taken apart: its items, or why it, or some of its objects, cannot be used, or both.
type Record struct {
	Raw      *record.Raw // only where something of it was rejected
	Offset   int64
	Time     time.Time // its timestamp
	Items    []record.Item
	Rejected *record.Rejection
	Empty    string // why it holds nothing to answer, where that is no fault
	Marker   bool
	Stream   string // of a marker
}

// Fetch reads a partition and hands it on, decoded, batch after batch, until ctx ends, reading fails for
// good, or the bounds are reached, which is no error. At the end of the partition it hands on empty batches.
func Fetch(ctx context.Context, reader *topic.Reader, decoder *record.Decoder, bounds Bounds, out chan<- *Batch) error {
	keys := keyCache{}
	var items []record.Item
	if bounds.End >= 0 && reader.Position() >= bounds.End {
		return send(ctx, out, &Batch{Next: reader.Position(), End: bounds.End, Last: true})
	}
	more := false // there is something to read
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
			for n := len(raw.Records); n > 0 && raw.Records[n-1].Offset >= bounds.End; n = len(raw.Records) {
				raw.Records = raw.Records[:n-1]
			}
		}
		items = make([]record.Item, 0, len(raw.Records))
		for i := range raw.Records {
			r := &raw.Records[i]
			b.Bytes += int64(r.Size())
			b.Time = r.Time
			from := len(items)
			items, err = decode(ctx, decoder, r, items)
			d := Record{Offset: r.Offset, Time: r.Time, Items: items[from:len(items):len(items)], Marker: r.Marker()}
			if len(d.Items) > 0 {
				key := keys.keep(r.Key) // one for all objects of a frame
				for i := range d.Items {
					d.Items[i].Key = key
				}
			}
			var empty *record.Empty
			switch {
			case err == nil:
			case errors.As(err, &d.Rejected):
				d.Raw = copied(r)
			case errors.As(err, &empty):
				d.Empty = empty.Reason
			default:
				return err
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

// decode decodes a record. One that the decoder panics over is a bad record, and no more.
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

// copied is a record of its own memory: the fetch's buffer is used again.
func copied(r *record.Raw) *record.Raw {
	c := *r
	c.Key, c.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	c.Headers = make([]record.Header, len(r.Headers))
	for i, h := range r.Headers {
		c.Headers[i] = record.Header{Key: h.Key, Value: bytes.Clone(h.Value)}
	}
	return &c
}

// keyCache keeps one copy of each of the few keys that most records repeat. A long key is no name that is
// repeated, and is copied each time.
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
