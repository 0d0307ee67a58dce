package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Ordinary is the size in bytes up to which a record is never the reason that a topic finds it too large: a
// topic that refuses such a record refuses every record, and is waited for.
const Ordinary = 4096

// LeftOutHeader names the parts that a record lacks, or has cut, because its topic does not take it whole.
const LeftOutHeader = "slkstream-left-out"

const (
	longestKey        = 256 // bytes of a key that was cut, its hash included
	longestKeptHeader = 128 // bytes of a header's value in a dead letter that was cut
	longestError      = 512
)

// Size is what the record takes when it is written, near enough for a limit, and never less.
func (r *Out) Size() int {
	n := 64 + len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += 10 + len(h.Key) + len(h.Value)
	}
	return n
}

// letter is the Fallback of dead letters: the same letter with less in it, until it fits.
type letter struct{}

// Instead implements Fallback. First goes the end of the value, then, where key and headers alone are too
// much, the sender's headers and the end of the key.
func (letter) Instead(rejected Out, _ error, limit int) (Out, bool) {
	if limit == NotForSize {
		if rejected.Key != nil {
			return rejected, false
		}
		rejected.Key = placeOf(&rejected) // a compacted topic takes no record without a key
		return rejected, true
	}
	size := rejected.Size()
	if size <= Ordinary {
		return rejected, false
	}
	if limit <= 0 || limit >= size {
		limit = size / 2
	}
	limit = max(limit, Ordinary)
	cut := rejected
	if size-len(cut.Value) > max(limit/2, Ordinary) {
		cut.Key = shortKey(cut.Key)
		cut.Headers = shortHeaders(cut.Headers)
	}
	mark(&cut)
	cut.Value = cut.Value[:max(0, min(len(cut.Value), limit-(cut.Size()-len(cut.Value))))]
	return cut, cut.Size() < size
}

// mark adds the header that tells of a cut. The headers of rejected records may be shared, and are not
// written to.
func mark(out *Out) {
	for _, h := range out.Headers {
		if h.Key == TruncatedHeader {
			return
		}
	}
	out.Headers = append(out.Headers[:len(out.Headers):len(out.Headers)],
		Header{TruncatedHeader, []byte("true")})
}

// placeOf is where a dead letter's record stands, as text.
func placeOf(out *Out) []byte {
	position := map[string]string{}
	for _, h := range out.Headers {
		position[h.Key] = string(h.Value)
	}
	return fmt.Appendf(nil, "%s/%s/%s", position[TopicHeader], position[PartitionHeader], position[OffsetHeader])
}

// shortKey is a key of at most longestKey bytes that is as good as unique.
func shortKey(key []byte) []byte {
	if len(key) <= longestKey {
		return key
	}
	sum := sha256.Sum256(key)
	tail := "~" + hex.EncodeToString(sum[:])
	return append(key[:longestKey-len(tail):longestKey-len(tail)], tail...)
}

// shortHeaders are our own headers, and of the sender's those that are short, a few.
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

// ResultFallback makes what is written where the output rejects a result: first the result without what makes
// it large, its attributes, its vector, its headers and the end of its key, largest first; then a dead letter
// that holds the item.
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
		if rejected.Size() <= Ordinary {
			return rejected, false
		}
		if less, ok := f.less(rejected); ok {
			return less, true
		}
	}
	return f.letter(why), true
}

// less leaves the largest part out that may be missing; false: none is left.
func (f *ResultFallback) less(rejected Out) (Out, bool) {
	left := ""
	headers := 0
	for _, h := range rejected.Headers {
		if h.Key == LeftOutHeader {
			left = string(h.Value)
		} else if h.Key != TruncatedHeader {
			headers += len(h.Key) + len(h.Value)
		}
	}
	bare := *f.Result
	if strings.Contains(left, "attributes") {
		bare.Attributes = nil
	}
	if strings.Contains(left, "vector") {
		bare.Vector = nil
	}
	attributes, vector, key := len(bare.Attributes), len(bare.Vector), max(len(rejected.Key)-longestKey, 0)
	part := ""
	switch most := max(attributes, vector, key, headers); most {
	case 0:
		return rejected, false
	case attributes:
		part = "attributes"
		bare.Attributes = nil
		rejected.Value = f.Encode(nil, &bare)
	case vector:
		part = "vector"
		bare.Vector = nil
		rejected.Value = f.Encode(nil, &bare)
	case key:
		part = "key"
		rejected.Key = shortKey(rejected.Key)
	default:
		part = "headers"
		rejected.Headers = nil
	}
	if left != "" {
		part = left + "," + part
	}
	var kept []Header
	for _, h := range rejected.Headers {
		if h.Key != LeftOutHeader && h.Key != TruncatedHeader {
			kept = append(kept, h)
		}
	}
	rejected.Headers = append(kept, Header{TruncatedHeader, []byte("true")}, Header{LeftOutHeader, []byte(part)})
	return rejected, true
}

// letter holds the item as JSON that can be fed again.
func (f *ResultFallback) letter(why error) Out {
	r := ItemLetter(f.Item, "the output rejects the result: "+why.Error(), f.Dead)
	return r
}

// ItemLetter is the dead letter of an item that was read well and cannot be answered, as JSON that can be fed
// again.
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
		Headers: []Header{{"content-type", []byte("application/json")}, {IDHeader, []byte(item.First())}},
	}
	raw.Headers = item.Trace.AppendHeaders(raw.Headers)
	return DeadLetter(dead, &raw, reason, 0)
}

// Undeliverable is the Fallback of a record beside the results, of an episode or for review: a dead letter
// that holds it, at the position of the item it tells of.
type Undeliverable struct {
	Item *Item
	Dead string
}

// Instead implements Fallback.
func (u *Undeliverable) Instead(rejected Out, why error, limit int) (Out, bool) {
	if limit != NotForSize && rejected.Size() <= Ordinary {
		return rejected, false
	}
	s := &u.Item.Source
	raw := Raw{
		Topic: s.Topic, Partition: s.Partition, Offset: s.Offset, Key: rejected.Key,
		Value: rejected.Value, Headers: rejected.Headers, Time: rejected.Time,
	}
	return DeadLetter(u.Dead, &raw, "rejected by "+rejected.Topic+": "+why.Error(), 0), true
}
