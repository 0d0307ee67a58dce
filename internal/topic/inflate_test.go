package topic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/slkstream/slkstream/internal/record"
)

var codecs = []compress.Compression{compress.Gzip, compress.Snappy, compress.Lz4, compress.Zstd}

// packed returns a batch of count records at an offset. Its body is the output of write, compressed.
func packed(t *testing.T, codec compress.Compression, offset int64, count int, write func(io.Writer)) []byte {
	t.Helper()
	var body bytes.Buffer
	w := codec.Codec().NewWriter(&body)
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return sealed(codec, offset, count, body.Bytes())
}

func sealed(codec compress.Compression, offset int64, count int, body []byte) []byte {
	b := append(appendBatch(nil, []record.Out{{}}, Anonymous, time.UnixMilli(1000))[:BatchHead], body...)
	binary.BigEndian.PutUint64(b, uint64(offset))
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-atLength-4))
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(codec))
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(count-1))
	binary.BigEndian.PutUint32(b[atCount:], uint32(count))
	binary.BigEndian.PutUint32(b[atChecksum:], crc32.Checksum(b[atAttributes:], castagnoli))
	return b
}

// put writes a record with a value of n zero bytes.
func put(w io.Writer, delta int, key string, n int64) {
	var head []byte
	head = append(head, 0, 0)
	head = binary.AppendVarint(head, int64(delta))
	head = kbin.AppendVarintBytes(head, []byte(key))
	head = binary.AppendVarint(head, n)
	w.Write(append(binary.AppendVarint(nil, int64(len(head))+n+1), head...))
	zeros := make([]byte, min(n, 1<<20))
	for left := n; left > 0; left -= min(left, int64(len(zeros))) {
		w.Write(zeros[:min(left, int64(len(zeros)))])
	}
	w.Write([]byte{0}) // no headers
}

// all decodes batches in several calls until the position is past them, and returns the most memory that one
// call allocated.
func all(t *testing.T, d *decoder, data []byte, position, end int64) (records []record.Raw, most uint64) {
	t.Helper()
	var before, after runtime.MemStats
	for position < end {
		runtime.ReadMemStats(&before)
		got, next, err := decodeOn(d, data, position)
		runtime.ReadMemStats(&after)
		most = max(most, after.TotalAlloc-before.TotalAlloc)
		if err != nil || next <= position {
			t.Fatalf("at %d: next %d, %v", position, next, err)
		}
		records, position = append(records, got...), next
	}
	return records, most
}

// decodeOn continues at position, as Reader does with a new fetch or the batch that is open.
func decodeOn(d *decoder, data []byte, position int64) ([]record.Raw, int64, error) {
	if d.open == nil {
		return d.decode(data, nil, position, nil)
	}
	got, next := d.more(position, nil)
	return got, next, nil
}

// Memory is bounded whatever a record inflates to. A record that is too large is rejected at its offset, with
// the beginning of its content, and the records around it are read.
func TestARecordThatInflatesWithoutEnd(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			batch := packed(t, codec, 10, 3, func(w io.Writer) {
				put(w, 0, "before", 5)
				put(w, 1, "bomb", 300<<20)
				put(w, 2, "after", 7)
			})
			d := &decoder{topic: "t"}
			got, most := all(t, d, batch, 10, 13)
			if len(got) != 3 || len(got[0].Value) != 5 || len(got[2].Value) != 7 || string(got[2].Key) != "after" ||
				got[0].Rejected != nil || got[2].Rejected != nil {
				t.Fatalf("%d records: %.300v", len(got), got)
			}
			bomb := got[1]
			if bomb.Rejected == nil || bomb.Rejected.Fault != record.TooLarge || bomb.Offset != 11 ||
				string(bomb.Key) != "bomb" || len(bomb.Value) < 1000 || len(bomb.Value) > mostOfRejected {
				t.Errorf("offset %d, key %q, %d bytes, %v", bomb.Offset, bomb.Key, len(bomb.Value), bomb.Rejected)
			}
			if limit := uint64(24<<20 + 2*len(batch)); codec != compress.Snappy && most > limit {
				t.Errorf("one call takes %d bytes, more than %d", most, limit)
			}
		})
	}
}

// A batch that inflates beyond mostInflated is rejected from there on.
func TestABatchThatInflatesWithoutEnd(t *testing.T) {
	batch := packed(t, compress.Zstd, 0, 4, func(w io.Writer) {
		put(w, 0, "good", 5)
		put(w, 1, "", 600<<20)
		put(w, 2, "", 600<<20)
		put(w, 3, "out of reach", 5)
	})
	got, most := all(t, &decoder{topic: "t"}, batch, 0, 4)
	if len(got) != 4 || got[0].Rejected != nil || most > 100<<20 {
		t.Fatalf("%d records, %d bytes", len(got), most)
	}
	for i, r := range got[1:] {
		if r.Rejected == nil || r.Rejected.Fault != record.TooLarge || r.Offset != int64(i+1) {
			t.Errorf("%d: %v", r.Offset, r.Rejected)
		}
	}
}

// Records that are each within bounds, but together far beyond mostKept, are returned over several calls.
func TestABatchThatInflatesToMuchComesInParts(t *testing.T) {
	const n, size = 40, 4 << 20
	batch := packed(t, compress.Zstd, 100, n, func(w io.Writer) {
		for i := range n {
			put(w, i, fmt.Sprint(i), size)
		}
	})
	got, most := all(t, &decoder{topic: "t"}, append(batch, someBatchAt(100+n)...), 100, 103+n)
	if len(got) != n+3 || most > 64<<20 {
		t.Fatalf("%d records, %d bytes at most", len(got), most)
	}
	for i, r := range got[:n] {
		if r.Offset != int64(100+i) || string(r.Key) != fmt.Sprint(i) || len(r.Value) != size || r.Rejected != nil {
			t.Fatalf("%d: %q, %d bytes, %v", r.Offset, r.Key, len(r.Value), r.Rejected)
		}
	}
}

func someBatchAt(offset int64) []byte { return at(someBatch(3, Anonymous), offset) }

// Unreadable records with a right checksum are rejected offset by offset, and the records after them
// are read.
func TestWhatCannotBeInflatedIsRejected(t *testing.T) {
	claim := binary.BigEndian.AppendUint32([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1},
		0xfffffff0)
	for name, batch := range map[string][]byte{
		"gzip": sealed(compress.Gzip, 0, 3, []byte("nothing of the kind")), "snappy": sealed(compress.Snappy, 0, 3,
			[]byte("nothing of the kind")),
		"lz4":           sealed(compress.Lz4, 0, 3, []byte("nothing of the kind")),
		"zstd":          sealed(compress.Zstd, 0, 3, []byte("nothing of the kind")),
		"unknown":       sealed(7, 0, 3, []byte("nothing of the kind")),
		"plain":         sealed(compress.None, 0, 3, []byte("nothing of the kind")),
		"snappy claims": sealed(compress.Snappy, 0, 3, append(claim, "xxxx"...)),
		"snappy length": sealed(compress.Snappy, 0, 3, append(binary.AppendUvarint(nil, 1<<31), "xxxx"...)),
		// a frame with a window of 2 GiB, and a block that would fill it
		"zstd window": sealed(compress.Zstd, 0, 3, []byte{
			0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x03, 0xff, 0xff,
			0x00,
		}),
		"count": sealed(compress.Zstd, 0, 3, nil),
	} {
		t.Run(name, func(t *testing.T) {
			got, most := all(t, &decoder{topic: "t"}, append(batch, someBatchAt(3)...), 0, 6)
			if len(got) != 6 || most > 64<<20 {
				t.Fatalf("%d records, %d bytes", len(got), most)
			}
			for i, r := range got {
				if r.Offset != int64(i) || (r.Rejected != nil) != (i < 3) {
					t.Errorf("%d: %v", r.Offset, r.Rejected)
				}
			}
		})
	}
	huge := sealed(compress.Zstd, 0, 1<<30, nil)
	got, _ := all(t, &decoder{topic: "t"}, huge, 0, 1<<30)
	if len(got) != 1 || !strings.Contains(got[0].Rejected.Reason, "offsets 0 to 1073741823") {
		t.Errorf("%d records, %v", len(got), got[0].Rejected)
	}
}

func BenchmarkInflate(b *testing.B) {
	var body bytes.Buffer
	w := compress.Zstd.Codec().NewWriter(&body)
	for i := range 500 {
		put(w, i, "key", 2048)
	}
	w.Close()
	batch := sealed(compress.Zstd, 0, 500, body.Bytes())
	d := &decoder{topic: "t"}
	var records []record.Raw
	b.SetBytes(500 * 2048)
	b.ReportAllocs()
	for b.Loop() {
		records, _, _ = d.decode(batch, nil, 0, records[:0])
	}
}

// Inflating a batch of 64 records of 15 MiB, about a gigabyte, over several calls.
func BenchmarkInflateLong(b *testing.B) {
	const count = 64
	var body bytes.Buffer
	w := compress.Zstd.Codec().NewWriter(&body)
	for i := range count {
		put(w, i, "key", 15<<20)
	}
	w.Close()
	batch := sealed(compress.Zstd, 0, count, body.Bytes())
	d := &decoder{topic: "t"}
	b.SetBytes(count * 15 << 20)
	for b.Loop() {
		for position := int64(0); position < count; {
			_, position, _ = decodeOn(d, batch, position)
		}
	}
}

// Compressed batches are read as they were written, and a batch that would grow stays uncompressed.
func TestCompression(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	noise := make([]byte, 50000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for _, how := range []string{"none", "lz4", "zstd"} {
		for name, value := range map[string][]byte{
			"text":  bytes.Repeat([]byte(`{"label":"milk"}`), 300),
			"noise": noise,
		} {
			var records []record.Out
			for i := range 3 {
				part := value[i*len(value)/3 : (i+1)*len(value)/3]
				records = append(records, record.Out{
					Key: fmt.Append(nil, i), Value: part,
					Time: time.UnixMilli(int64(i)),
				})
			}
			b := Encode(TopicPartition{}, records, Stamp{7, 1, 5, true}, Compression(how))
			plain := Encode(TopicPartition{}, records, Stamp{7, 1, 5, true}, "")
			if smaller := len(b.Data) < len(plain.Data); smaller != (how != "none" && name == "text") {
				t.Errorf("%s, %s: %d bytes of %d", how, name, len(b.Data), len(plain.Data))
			}
			got, next, err := (&decoder{}).decode(b.Data[4:], nil, 0, nil)
			if err != nil || next != 3 || len(got) != 3 || !bytes.HasSuffix(value, got[2].Value) ||
				string(got[1].Key) != "1" || got[2].Time.UnixMilli() != 2 || got[0].Rejected != nil {
				t.Errorf("%s, %s: %d records, %v", how, name, len(got), err)
			}
		}
	}
}

// Time to compress a batch of 300 results, and its size.
func BenchmarkCompression(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var records []record.Out
	for i := range 300 {
		r := record.Result{
			ID: fmt.Sprintf("embeddings/%d/%d", i%4, i), ItemID: fmt.Sprint("item-", i),
			Stream: fmt.Sprint("cam-", i%7), Episode: int64(i / 100), Label: "milk",
			Confidence: random.Float64(), Calibrated: true, UnknownScore: random.Float64(),
			Time: time.UnixMilli(int64(1e12 + 40*i)), Model: "clip-vit-b32",
			Alternatives: []record.Alternative{
				{Label: "juice", Confidence: random.Float64()},
				{Label: "water", Confidence: random.Float64()},
			},
			Source: record.ResultSource{Topic: "embeddings", Partition: int32(i % 4), Offset: int64(i)},
		}
		records = append(records, record.Out{Key: []byte(r.Stream), Value: record.AppendResult(nil, &r)})
	}
	plain := len(Encode(TopicPartition{}, records, Anonymous, "").Data)
	for _, how := range []string{"none", "lz4", "zstd"} {
		b.Run(how, func(b *testing.B) {
			b.SetBytes(int64(plain))
			n := 0
			for b.Loop() {
				n = len(Encode(TopicPartition{}, records, Anonymous, Compression(how)).Data)
			}
			b.ReportMetric(float64(n)/float64(plain), "size")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/300, "ns/record")
		})
	}
}
