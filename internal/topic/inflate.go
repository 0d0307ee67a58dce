package topic

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/slkstream/slkstream/internal/record"
)

// A compressed batch may inflate to any size. These bounds are checked before memory is allocated, whatever
// the batch declares.
const (
	defaultMaxRecord = 16 << 20
	// mostKept bytes of memory for inflated records end a call of decode or more; the following call continues there.
	mostKept = 16 << 20
	// mostInflated bytes of one batch are inflated; records beyond that are rejected.
	mostInflated = 1 << 30
	// mostOfRejected bytes of a record that is too large are kept.
	mostOfRejected = 64 << 10
	// largestWindow is the largest zstd window that is accepted. The highest levels use larger ones, but only
	// for batches above that size.
	largestWindow = 32 << 20
	chunkSize     = 256 << 10
	// besideRecord is about what an inflated record takes beside its bytes, of which it may have very few.
	besideRecord = 512
)

// inflating is a compressed batch that is being read. A batch of a few megabytes may hold gigabytes, so it is
// inflated in parts, by several calls of more.
type inflating struct {
	head
	codec   compress.Compression
	size    int // of the batch, compressed
	source  io.ReadCloser
	left    int   // records
	claimed int64 // bytes of the records so far, as declared
}

// inflateBatch is batch for a compressed batch.
func (d *decoder) inflateBatch(codec compress.Compression, h head, body []byte, position int64,
	records []record.Raw,
) ([]record.Raw, int64) {
	source, err := decompressor(codec, body)
	if err != nil {
		return d.reject(h, max(h.base, position), unreadable("%v", err), records), h.last + 1
	}
	if d.stream == nil {
		d.stream = bufio.NewReaderSize(nil, 64<<10)
	}
	d.stream.Reset(source)
	d.open = &inflating{head: h, codec: codec, size: len(body), source: source, left: h.count}
	return d.inflate(d.open, position, records)
}

// inflate appends records of the open batch, up to mostKept bytes, and closes it after its last record.
func (d *decoder) inflate(b *inflating, position int64, records []record.Raw) ([]record.Raw, int64) {
	next := max(b.base, position)
	for b.left > 0 {
		if d.kept > mostKept {
			return records, next
		}
		raw, why := d.inflateNext(b, next)
		if why != nil {
			records = d.reject(b.head, next, why, records)
			break
		}
		b.left--
		if raw.Offset >= next {
			records = append(records, raw)
			next = raw.Offset + 1
			d.kept += besideRecord
		}
	}
	d.stream.Reset(nil) // release the source
	b.source.Close()
	d.open = nil
	return records, b.last + 1
}

// inflateNext reads the next record of a batch.
func (d *decoder) inflateNext(b *inflating, from int64) (record.Raw, *record.Rejection) {
	n, err := binary.ReadVarint(d.stream)
	if err == nil && n < 0 {
		err = fmt.Errorf("a record of %d bytes", n)
	}
	if err != nil {
		return record.Raw{}, unreadable("%s: %v", b.codec, noEnd(err))
	}
	if b.claimed += n; b.claimed > mostInflated {
		return record.Raw{}, &record.Rejection{
			Fault:  record.TooLarge,
			Reason: fmt.Sprintf("its batch of %d bytes inflates to more than %d", b.size, int64(mostInflated)),
		}
	}
	return d.inflateRecord(b.head, n, from)
}

// inflateRecord reads the next record, of n bytes. Of a record before from it reads the offset only. A record
// that is too large is cut and marked as rejected.
func (d *decoder) inflateRecord(h head, n, from int64) (record.Raw, *record.Rejection) {
	beginning, err := d.stream.Peek(int(min(n, 32)))
	if err != nil {
		return record.Raw{}, unreadable("a record of %d bytes: %v", n, noEnd(err))
	}
	r := kbin.Reader{Src: beginning}
	raw, bad := d.start(h, &r)
	if bad || !r.Ok() {
		return raw, unreadable("a record of %d bytes cannot be read", n)
	}
	limit := d.maxRecord
	if limit <= 0 {
		limit = defaultMaxRecord
	}
	// Room for key and headers. The length of the value is checked where the record is decoded.
	limit += mostOfRejected
	keep := n
	switch {
	case raw.Offset < from:
		keep = 0
	case n > int64(limit):
		keep = mostOfRejected
	}
	body := d.room(int(keep))
	if _, err := io.ReadFull(d.stream, body); err != nil {
		return raw, unreadable("a record of %d bytes: %v", n, noEnd(err))
	}
	for left := n - keep; left > 0; { // Discard takes an int, which may have 32 bits
		step := min(left, 1<<30)
		if _, err := d.stream.Discard(int(step)); err != nil {
			return raw, unreadable("a record of %d bytes: %v", n, noEnd(err))
		}
		left -= step
	}
	if raw.Offset < from {
		return raw, nil
	}
	if keep == n {
		return d.record(h, body)
	}
	r.Src = body[len(beginning)-len(r.Src):]
	raw.Key, raw.Value = atMost(&r), atMost(&r)
	raw.Rejected = &record.Rejection{
		Fault:  record.TooLarge,
		Reason: fmt.Sprintf("the record is %d bytes long, more than %d", n, limit),
	}
	return raw, nil
}

// room returns memory for n bytes. Small records share a chunk.
func (d *decoder) room(n int) []byte {
	d.kept += n
	if n > chunkSize/4 {
		return make([]byte, n)
	}
	if n > len(d.chunk) {
		d.chunk = make([]byte, chunkSize)
	}
	b := d.chunk[:n:n]
	d.chunk = d.chunk[n:]
	return b
}

// atMost reads a length and that many bytes, or fewer if the data ends before.
func atMost(r *kbin.Reader) []byte {
	n := int(r.Varint())
	if n < 0 || !r.Ok() {
		return nil
	}
	return r.Span(min(n, len(r.Src)))
}

// noEnd turns io.EOF into io.ErrUnexpectedEOF: inside a batch the end is an error.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// decompressor returns a reader of the inflated body. It allocates by the data read, not by declared sizes.
func decompressor(codec compress.Compression, body []byte) (io.ReadCloser, error) {
	switch codec {
	case compress.Zstd:
		return newZstd(body)
	case compress.Gzip, compress.Snappy, compress.Lz4:
		if codec == compress.Snappy && !snappyFits(body) {
			return nil, errors.New("snappy: a block that is not one")
		}
		return codec.Codec().NewReader(bytes.NewReader(body)), nil
	default:
		return nil, fmt.Errorf("compression %d is not known", codec)
	}
}

var zstdDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(largestWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // the settings are constants
	}
	return d
}}

type zstdReader struct{ *zstd.Decoder }

func newZstd(body []byte) (io.ReadCloser, error) {
	d := zstdDecoders.Get().(*zstd.Decoder)
	if err := d.Reset(bytes.NewReader(body)); err != nil {
		zstdDecoders.Put(d)
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return zstdReader{d}, nil
}

// Close returns the decoder to the pool.
func (z zstdReader) Close() error {
	err := z.Reset(nil)
	zstdDecoders.Put(z.Decoder)
	return err
}

// snappyFits says whether the sizes that a snappy body declares are possible: its reader allocates by them.
// The body is a block, or in the framing of Java's clients a header and blocks, each after its length.
func snappyFits(body []byte) bool {
	const head, length = 16, 4
	// most bounds the declared size of a block, as a multiple of its compressed size; the format reaches 21.
	const most = 64
	fits := func(block []byte) bool {
		n, err := snappy.DecodedLen(block)
		return err == nil && n <= most*(len(block)+16)
	}
	if !bytes.HasPrefix(body, []byte("\x82SNAPPY\x00")) {
		return fits(body)
	}
	for body = body[min(head, len(body)):]; len(body) > 0; {
		if len(body) < length || int64(binary.BigEndian.Uint32(body)) > int64(len(body)-length) {
			return false
		}
		end := length + int(binary.BigEndian.Uint32(body))
		if !fits(body[length:end]) {
			return false
		}
		body = body[end:]
	}
	return true
}
