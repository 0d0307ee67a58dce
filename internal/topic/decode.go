package topic

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/record"
)

// ErrCorrupt is wrapped by the error for a batch or an answer with a wrong checksum, length or format.
var ErrCorrupt = errors.New("corrupt record batch")

// aborted is an aborted transaction, as listed in the answer to a fetch: every transactional batch of the
// producer from its first offset up to the abort marker is void.
type aborted = kmsg.FetchResponseTopicPartitionAbortedTransaction

// decoder decodes fetched bytes into records, in order. It skips control batches and those of aborted
// transactions. In a batch whose checksum is right, unreadable records are what the sender wrote: they become
// rejected records, and decoding continues. A wrong checksum is an error.
type decoder struct {
	topic     string
	partition int32
	keys      map[string]string // header names, interned
	maxRecord int               // bytes of an inflated record that are kept; 0: 16 MiB
	kept      int               // memory for inflated records in the present call of decode or more, in bytes
	stream    *bufio.Reader     // of the open batch
	chunk     []byte            // free memory for inflated records
	open      *inflating        // the batch of which only a part was inflated; nil: none
}

// decode appends the records of fetched data from position on to records, and returns them with the next
// position. gone lists the aborted transactions in the data; decode sorts it by offset. It decodes whole
// batches only. Each moves the position past its last offset, even if that record is missing: compaction,
// control batches and aborted transactions leave gaps. It stops after mostKept bytes of inflated records: the
// caller continues with more while a batch is open, and else fetches again from the next position.
func (d *decoder) decode(data []byte, gone []aborted, position int64, records []record.Raw,
) ([]record.Raw, int64, error) {
	slices.SortFunc(gone, func(a, b aborted) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	void := map[int64]bool{} // producers inside an aborted transaction
	for d.kept = 0; len(data) >= BatchHead && d.kept <= mostKept; {
		size := int(int32(binary.BigEndian.Uint32(data[atLength:]))) + atLength + 4
		if magic := data[atMagic]; magic != 2 {
			return records, position, fmt.Errorf("%w: %s/%d at %d: format version %d, only 2 is read", ErrCorrupt,
				d.topic, d.partition, position, magic)
		}
		if size < BatchHead {
			return records, position, fmt.Errorf("%w: %s/%d at %d: length %d", ErrCorrupt, d.topic, d.partition,
				position, size)
		}
		if size > len(data) {
			break // cut by the fetch's size limit: the next fetch brings it whole
		}
		b := data[:size]
		data = data[size:]
		h := headOf(b)
		if h.last < position {
			continue // a broker may send batches before the position
		}
		if sum := checksum(b); sum != binary.BigEndian.Uint32(b[atChecksum:]) {
			return records, position, fmt.Errorf("%w: %s/%d at %d: checksum", ErrCorrupt, d.topic, d.partition, h.base)
		}
		for len(gone) > 0 && gone[0].FirstOffset <= h.last {
			void[gone[0].ProducerID] = true
			gone = gone[1:]
		}
		switch {
		case h.attributes&attributeControl != 0:
			if abortMarker(b[BatchHead:]) {
				delete(void, h.producer)
			}
		case h.attributes&attributeTransactional != 0 && void[h.producer]:
		default:
			if records, position = d.batch(h, b[BatchHead:], position, records); d.open != nil {
				return records, position, nil
			}
		}
		position = h.last + 1
	}
	return records, position, nil
}

// more is decode for the rest of the open batch.
func (d *decoder) more(position int64, records []record.Raw) ([]record.Raw, int64) {
	d.kept = 0
	return d.inflate(d.open, position, records)
}

// abortMarker says whether a control batch's record aborts its transaction (its key: version, then type 0).
func abortMarker(b []byte) bool {
	r := kbin.Reader{Src: b}
	r.Varint()  // length
	r.Int8()    // attributes
	r.Varlong() // time
	r.Varint()  // offset
	key := r.VarintBytes()
	return r.Ok() && len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}

// head holds the fields of a batch's header.
type head struct {
	base, last int64 // offsets
	first      int64 // milliseconds
	attributes uint16
	producer   int64
	count      int
}

func headOf(b []byte) head {
	base := int64(binary.BigEndian.Uint64(b))
	h := head{
		base: base, last: base + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:]))),
		first:      int64(binary.BigEndian.Uint64(b[atFirstTime:])),
		attributes: binary.BigEndian.Uint16(b[atAttributes:]),
		producer:   int64(binary.BigEndian.Uint64(b[atProducer:])),
		count:      int(int32(binary.BigEndian.Uint32(b[atCount:]))),
	}
	if h.appended() {
		h.first = int64(binary.BigEndian.Uint64(b[atMaxTime:]))
	}
	return h
}

// time returns the time of a record, so much later than the batch's first, or of a time before the year 0 or
// after 9999 the nearest in between: senders write any number, and encoding/json refuses other years.
func (h *head) time(later int64) time.Time {
	const first, last, far = -62_167_219_200_000, 253_402_300_799_999, 1 << 61
	ms := min(max(h.first, -far), far) + min(max(later, -far), far)
	return time.UnixMilli(min(max(ms, first), last))
}

// appended says whether first is the broker's time, which holds for all records.
func (h *head) appended() bool { return h.attributes&attributeLogAppendTime != 0 }

// batch appends the records in the body of a batch, from position on, and returns the position after them:
// the end of the batch, unless a compressed batch stays open. Unreadable records are appended as rejected.
func (d *decoder) batch(h head, body []byte, position int64, records []record.Raw) ([]record.Raw, int64) {
	if codec := compress.Compression(h.attributes & attributeCompression); codec != compress.None {
		return d.inflateBatch(codec, h, body, position, records)
	}
	r := kbin.Reader{Src: body}
	const least = 7 // bytes of a record: its length, attributes, time, offset, key, value, headers
	if h.count >= 0 && h.count <= len(body)/least {
		records = slices.Grow(records, h.count)
	}
	next := max(h.base, position)
	for range h.count {
		at := len(body) - len(r.Src)
		one := r.Span(int(r.Varint()))
		if !r.Ok() {
			return d.reject(h, next, unreadable("a record at byte %d of %d cannot be read", at, len(body)), records),
				h.last + 1
		}
		raw, err := d.record(h, one)
		if err != nil {
			return d.reject(h, next, err, records), h.last + 1
		}
		if raw.Offset >= position {
			records = append(records, raw)
			next = raw.Offset + 1
		}
	}
	return records, h.last + 1
}

// mostHeaders bounds the headers of a record, as an empty one takes twenty times the memory of its bytes.
const mostHeaders = 1000

// record decodes a record. Its key, value and headers' values alias body.
func (d *decoder) record(h head, body []byte) (record.Raw, *record.Rejection) {
	r := kbin.Reader{Src: body}
	raw, bad := d.start(h, &r)
	key, value := r.VarintBytes(), r.VarintBytes()
	n := int(r.Varint())
	if bad || !r.Ok() || n < 0 || n > len(body) {
		return raw, unreadable("a record of %d bytes cannot be read", len(body))
	}
	if n > mostHeaders {
		raw.Key, raw.Value = key, value
		raw.Rejected = &record.Rejection{
			Fault: record.TooLarge, Reason: fmt.Sprintf("the record has %d headers, more than %d", n, mostHeaders),
		}
		return raw, nil
	}
	if n > 0 {
		raw.Headers = make([]record.Header, n)
		for i := range raw.Headers {
			raw.Headers[i] = record.Header{Key: d.name(r.VarintBytes()), Value: r.VarintBytes()}
		}
	}
	if !r.Ok() || len(r.Src) > 0 {
		return raw, unreadable("a record ends at byte %d, not at %d", len(body)-len(r.Src), len(body))
	}
	raw.Key, raw.Value = key, value
	return raw, nil
}

// start decodes a record up to its key; bad means that its offset is outside the batch.
func (d *decoder) start(h head, r *kbin.Reader) (raw record.Raw, bad bool) {
	r.Int8() // attributes
	delta := r.Varlong()
	if h.appended() {
		delta = 0
	}
	raw = record.Raw{
		Topic: d.topic, Partition: d.partition, Offset: h.base + int64(r.Varint()),
		Time: h.time(delta),
	}
	return raw, raw.Offset < h.base || raw.Offset > h.last
}

// mostRejected bounds the rejected records of a batch, one for each offset. If there would be more, a single
// one stands for the rest of the batch.
const mostRejected = 1000

// reject appends the rest of a batch, from offset from on, as rejected records.
func (d *decoder) reject(h head, from int64, why *record.Rejection, records []record.Raw) []record.Raw {
	if h.last-from >= mostRejected {
		why = &record.Rejection{Fault: why.Fault, Reason: fmt.Sprintf("offsets %d to %d: %s", from, h.last,
			why.Reason)}
		h.last = from
	}
	for offset := from; offset <= h.last; offset++ {
		records = append(records, record.Raw{
			Topic: d.topic, Partition: d.partition, Offset: offset,
			Time: h.time(0), Rejected: why,
		})
	}
	return records
}

func unreadable(format string, values ...any) *record.Rejection {
	return &record.Rejection{Fault: record.Unreadable, Reason: fmt.Sprintf(format, values...)}
}

// name interns a header name. A long one is unlikely to come again.
func (d *decoder) name(b []byte) string {
	const longest = 64
	if len(b) > longest {
		return string(b)
	}
	if s, ok := d.keys[string(b)]; ok {
		return s
	}
	if d.keys == nil || len(d.keys) >= 1024 {
		d.keys = map[string]string{}
	}
	s := string(b)
	d.keys[s] = s
	return s
}
