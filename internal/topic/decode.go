package topic

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/segmentio/kafka-go/compress"

	"github.com/slkstream/slkstream/internal/record"
)

// ErrCorrupt is returned for bytes in a log that are not what was written: a checksum or a length that does not hold.
var ErrCorrupt = errors.New("corrupt record batch")

// aborted is a transaction that was given up, as a fetch tells of it: every transactional batch of the producer from
// first on, until the marker of the abort, is void.
type aborted struct{ producer, first int64 }

// decoder turns fetched bytes into records: those of committed transactions and of no transaction, in order.
type decoder struct {
	topic     string
	partition int32
	keys      map[string]string // header names seen, as there are few
}

// decode appends the records at position and beyond to records, and returns them with the next position. Only whole
// batches count, and each moves the position past its last offset, present or not: compaction, control batches
// and aborted transactions leave gaps. gone lists the transactions to leave out; it is sorted in place.
func (d *decoder) decode(data []byte, position int64, gone []aborted, records []record.Raw) ([]record.Raw, int64, error) {
	slices.SortFunc(gone, func(a, b aborted) int { return cmp.Compare(a.first, b.first) })
	void := map[int64]bool{} // producers inside an aborted transaction here
	for len(data) >= batchHead {
		size := int(int32(binary.BigEndian.Uint32(data[atLength:]))) + atLength + 4
		if magic := data[atMagic]; magic != 2 {
			return records, position, fmt.Errorf("%w: %s/%d at %d: format version %d, only 2 is read", ErrCorrupt, d.topic, d.partition, position, magic)
		}
		if size < batchHead {
			return records, position, fmt.Errorf("%w: %s/%d at %d: length %d", ErrCorrupt, d.topic, d.partition, position, size)
		}
		if size > len(data) {
			break // cut by the size of the answer: comes whole next time
		}
		b := data[:size]
		data = data[size:]
		base := int64(binary.BigEndian.Uint64(b))
		last := base + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:])))
		if last < position {
			continue // the broker may send the batch before the one asked for
		}
		if sum := crc32.Checksum(b[atAttributes:], castagnoli); sum != binary.BigEndian.Uint32(b[atChecksum:]) {
			return records, position, fmt.Errorf("%w: %s/%d at %d: checksum", ErrCorrupt, d.topic, d.partition, base)
		}
		attributes := binary.BigEndian.Uint16(b[atAttributes:])
		producer := int64(binary.BigEndian.Uint64(b[atProducer:]))
		for len(gone) > 0 && gone[0].first <= last {
			void[gone[0].producer] = true
			gone = gone[1:]
		}
		switch {
		case attributes&attributeControl != 0:
			if abortMarker(b[batchHead:]) {
				delete(void, producer)
			}
		case attributes&attributeTransactional != 0 && void[producer]:
		default:
			var err error
			if records, err = d.batch(b, base, position, records); err != nil {
				return records, position, fmt.Errorf("%w: %s/%d at %d: %w", ErrCorrupt, d.topic, d.partition, base, err)
			}
		}
		position = last + 1
	}
	return records, position, nil
}

// abortMarker says whether a control batch's record ends its transaction by giving it up (its key: version, then type 0).
func abortMarker(b []byte) bool {
	c := cursor{b: b}
	c.varint() // length
	c.skip(1)  // attributes
	c.varint() // time
	c.varint() // offset
	key := c.bytes()
	return !c.bad && len(key) >= 4 && binary.BigEndian.Uint16(key[2:]) == 0
}

func (d *decoder) batch(b []byte, base, position int64, records []record.Raw) ([]record.Raw, error) {
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	first := int64(binary.BigEndian.Uint64(b[atFirstTime:]))
	appended := attributes&attributeLogAppendTime != 0
	if appended {
		first = int64(binary.BigEndian.Uint64(b[atMaxTime:]))
	}
	count := int(int32(binary.BigEndian.Uint32(b[atCount:])))
	body := b[batchHead:]
	if c := compress.Compression(attributes & attributeCompression); c != compress.None {
		var err error
		if body, err = inflate(c, body); err != nil {
			return records, err
		}
	}
	c := cursor{b: body}
	if count < 0 || count > len(body) {
		return records, fmt.Errorf("%d records in %d bytes", count, len(body))
	}
	records = slices.Grow(records, count)
	for range count {
		end := c.varint()
		end += int64(c.at)
		c.skip(1)
		delta := c.varint()
		offset := base + c.varint()
		key, value := c.bytes(), c.bytes()
		n := c.varint()
		if c.bad || n < 0 || n > int64(len(body)) {
			return records, fmt.Errorf("a record at byte %d of %d cannot be read", c.at, len(body))
		}
		var headers []record.Header
		if n > 0 {
			headers = make([]record.Header, n)
			for i := range headers {
				headers[i] = record.Header{Key: d.name(c.bytes()), Value: c.bytes()}
			}
		}
		if c.bad || int64(c.at) != end {
			return records, fmt.Errorf("a record ends at byte %d, not at %d", c.at, end)
		}
		if offset < position {
			continue
		}
		if appended {
			delta = 0
		}
		records = append(records, record.Raw{
			Topic: d.topic, Partition: d.partition, Offset: offset, Key: key, Value: value,
			Headers: headers, Time: time.UnixMilli(first + delta),
		})
	}
	return records, nil
}

// name keeps one string for each header name.
func (d *decoder) name(b []byte) string {
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

func inflate(c compress.Compression, b []byte) ([]byte, error) {
	codec := c.Codec()
	if codec == nil {
		return nil, fmt.Errorf("compression %d is not known", c)
	}
	r := codec.NewReader(bytes.NewReader(b))
	defer r.Close()
	out, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", codec.Name(), err)
	}
	return out, nil
}

// cursor reads the parts of records; once something does not fit it is bad and reads zeros.
type cursor struct {
	b   []byte
	at  int
	bad bool
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.b[c.at:])
	if n <= 0 {
		c.bad, c.at = true, len(c.b)
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) skip(n int) {
	if n > len(c.b)-c.at {
		c.bad, c.at = true, len(c.b)
		return
	}
	c.at += n
}

// bytes reads a length and as many bytes, which it does not copy; nil for -1.
func (c *cursor) bytes() []byte {
	n := c.varint()
	if n < 0 || c.bad {
		return nil
	}
	if n > int64(len(c.b)-c.at) {
		c.bad, c.at = true, len(c.b)
		return nil
	}
	b := c.b[c.at : c.at+int(n) : c.at+int(n)]
	c.at += int(n)
	return b
}
