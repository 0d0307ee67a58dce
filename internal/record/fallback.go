package record

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// ordinary is the size in bytes up to which a record is not made smaller: a topic that rejects such a record
// for its size rejects every record, and its limit must be raised.
const ordinary = 4096

// LeftOutHeader lists the parts that were removed from a record, or cut, to fit the topic's limit.
const LeftOutHeader = "slkstream-left-out"

const (
	longestKey        = 256 // bytes of a key after it was cut, including its hash
	longestKeptHeader = 128 // bytes of a sender's header, name and value, that is kept in a cut dead letter
	longestError      = 512
)

// Size estimates the record's size when it is written, never too low.
func (r *Out) Size() int {
	n := 64 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}

// letter is the Fallback of dead letters: it removes parts of the letter until it fits.
type letter struct{}

// Instead implements Fallback. It cuts the value. If key and headers alone are too large, it first cuts the
// key and removes headers of the sender.
func (letter) Instead(rejected Out, _ error, limit int) (Out, bool) {
	if limit == NotForSize {
		if rejected.Key != nil {
			return rejected, false
		}
		l, _ := ReadLetter(&Raw{Headers: rejected.Headers})
		rejected.Key = []byte(l.Source.ID()) // a compacted topic accepts no record without a key
		return rejected, true
	}
	size := rejected.Size()
	if size <= ordinary {
		return rejected, false
	}
	if limit <= 0 || limit >= size {
		limit = size / 2
	}
	limit = max(limit, ordinary)
	cut := rejected
	if size-len(cut.Value) > max(limit/2, ordinary) {
		cut.Key = shortKey(cut.Key)
		cut.Headers = shortHeaders(cut.Headers)
	}
	if _, marked := (&Raw{Headers: cut.Headers}).Header(TruncatedHeader); !marked {
		cut.Headers = append(slices.Clip(cut.Headers), Header{TruncatedHeader, []byte("true")})
	}
	cut.Value = cut.Value[:max(0, min(len(cut.Value), limit-(cut.Size()-len(cut.Value))))]
	return cut, cut.Size() < size
}

// shortKey returns the key, cut to longestKey bytes with a hash at its end that keeps it unique.
func shortKey(key []byte) []byte {
	if len(key) <= longestKey {
		return key
	}
	sum := sha256.Sum256(key)
	tail := "~" + hex.EncodeToString(sum[:])
	return append(key[:longestKey-len(tail):longestKey-len(tail)], tail...)
}

// shortHeaders returns the dead letter's own headers, and up to 16 short ones of the sender.
func shortHeaders(headers []Header) []Header {
	const most = 16
	var short []Header
	others := 0
	for _, h := range headers {
		switch h.Key {
		case ErrorHeader:
			h.Value = h.Value[:min(len(h.Value), longestError)]
		case TopicHeader, PartitionHeader, OffsetHeader, TruncatedHeader, TimeHeader, IDHeader:
		default:
			if others++; others > most || len(h.Key)+len(h.Value) > longestKeptHeader {
				continue
			}
		}
		short = append(short, h)
	}
	return short
}

// ResultFallback is the Fallback of results. It removes attributes, vector, headers and the end of the key,
// one at a time, the largest first. If nothing is left to remove, it returns a dead letter with the item.
type ResultFallback struct {
	Item   *Item
	Result *Result
	Dead   string
	// Encode appends the result in the output's form.
	Encode func([]byte, *Result) []byte
}

// Instead implements Fallback.
func (f *ResultFallback) Instead(rejected Out, why error, limit int) (Out, bool) {
	if limit != NotForSize {
		if rejected.Size() <= ordinary {
			return rejected, false
		}
		if less, ok := f.less(rejected); ok {
			return less, true
		}
	}
	return ItemLetter(f.Item, "the output rejects the result: "+why.Error(), f.Dead), true
}

// less removes the largest removable part; false: none is left.
func (f *ResultFallback) less(rejected Out) (Out, bool) {
	var left []string
	var own []Header
	headers := 0
	for _, h := range rejected.Headers {
		switch h.Key {
		case LeftOutHeader:
			left = strings.Split(string(h.Value), ",")
		case TruncatedHeader:
		default:
			own = append(own, h)
			headers += len(h.Key) + len(h.Value)
		}
	}
	bare := *f.Result
	parts := []struct {
		name   string
		size   int
		remove func()
	}{
		{"attributes", len(bare.Attributes), func() { bare.Attributes = nil }},
		{"vector", len(bare.Vector), func() { bare.Vector = nil }},
		{"key", len(rejected.Key) - longestKey, func() { rejected.Key = shortKey(rejected.Key) }},
		{"headers", headers, func() { own = nil }},
	}
	largest := -1
	for i, part := range parts {
		if slices.Contains(left, part.name) {
			part.remove()
		} else if part.size > 0 && (largest < 0 || part.size > parts[largest].size) {
			largest = i
		}
	}
	if largest < 0 {
		return rejected, false
	}
	parts[largest].remove()
	rejected.Value = f.Encode(nil, &bare)
	left = append(left, parts[largest].name)
	rejected.Headers = append(own, Header{TruncatedHeader, []byte("true")},
		Header{LeftOutHeader, []byte(strings.Join(left, ","))})
	return rejected, true
}

// ItemLetter returns the dead letter of a valid item that cannot be answered, as JSON that can be sent again.
func ItemLetter(item *Item, reason, dead string) Out {
	review := NewReview(item, &Result{
		ID: item.ID(), Source: ResultSource{
			Topic: item.Source.Topic, Partition: item.Source.Partition,
			Offset: item.Source.Offset,
		},
	})
	raw := Raw{
		Topic: item.Source.Topic, Partition: item.Source.Partition, Offset: item.Source.Offset, Key: item.Key,
		Value: AppendReview(nil, &review), Time: item.Time,
		Headers: []Header{isJSON, {IDHeader, []byte(item.first())}},
	}
	raw.Headers = item.Trace.AppendHeaders(raw.Headers)
	return DeadLetter(dead, &raw, reason, 0)
}

// Undeliverable is the Fallback of episode and review records: a dead letter with the record, at the position
// of Item.
type Undeliverable struct {
	Item *Item
	Dead string
}

// Instead implements Fallback.
func (u *Undeliverable) Instead(rejected Out, why error, limit int) (Out, bool) {
	if limit != NotForSize && rejected.Size() <= ordinary {
		return rejected, false
	}
	s := &u.Item.Source
	raw := Raw{
		Topic: s.Topic, Partition: s.Partition, Offset: s.Offset, Key: rejected.Key,
		Value: rejected.Value, Headers: rejected.Headers, Time: rejected.Time,
	}
	return DeadLetter(u.Dead, &raw, "rejected by "+rejected.Topic+": "+why.Error(), 0), true
}
