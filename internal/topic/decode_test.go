package topic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

func someBatch(n int, stamp Stamp) []byte {
	var records []record.Out
	for i := range n {
		records = append(records, record.Out{
			Key: fmt.Append(nil, "key-", i%7), Value: make([]byte, 2048), Time: time.UnixMilli(int64(1000 + i)),
			Headers: []record.Header{{Key: "label", Value: []byte("milk")}},
		})
	}
	return appendBatch(nil, records, stamp, time.Now())
}

// at sets a batch's base offset, which its checksum does not cover.
func at(batch []byte, offset int64) []byte {
	binary.BigEndian.PutUint64(batch, uint64(offset))
	return batch
}

// A compacted batch moves the position past its end, even if its last records are deleted.
func TestPositionsMoveOverGaps(t *testing.T) {
	batch := at(someBatch(3, Anonymous), 10)
	binary.BigEndian.PutUint32(batch[atLastDelta:], 9) // offsets 13 to 19 are compacted away
	binary.BigEndian.PutUint32(batch[atChecksum:], crc32.Checksum(batch[atAttributes:], castagnoli))
	d := &decoder{topic: "t"}
	records, next, err := d.decode(batch, nil, 11, nil)
	if err != nil || next != 20 || len(records) != 2 || records[0].Offset != 11 {
		t.Errorf("%d records, next %d, %v", len(records), next, err)
	}
	cut := at(someBatch(2, Anonymous), 20)
	records, next, err = d.decode(append(batch, cut[:len(cut)-1]...), nil, 10, nil)
	if err != nil || next != 20 || len(records) != 3 {
		t.Errorf("with a batch cut short: %d records, next %d, %v", len(records), next, err)
	}
}

func TestACorruptBatchIsRefused(t *testing.T) {
	d := &decoder{topic: "t"}
	for at := atMagic; at < BatchHead+20; at++ {
		batch := someBatch(3, Anonymous)
		batch[at] ^= 1
		if _, _, err := d.decode(batch, nil, 0, nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("byte %d changed: %v", at, err)
		}
	}
}

// Whatever a broker sends, decoding ends and the position never moves backwards.
func FuzzDecode(f *testing.F) {
	f.Add(someBatch(3, Anonymous), int64(0))
	f.Add(at(someBatch(2, Stamp{7, 1, 0, true}), 5), int64(6))
	f.Add(append(someBatch(1, Anonymous), at(someBatch(1, Anonymous), 1)...), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, position int64) {
		for b := data; len(b) >= BatchHead; { // set the right checksums, to reach the decoder behind them
			size := int(int32(binary.BigEndian.Uint32(b[atLength:]))) + atLength + 4
			if size < BatchHead || size > len(b) {
				break
			}
			binary.BigEndian.PutUint32(b[atChecksum:], crc32.Checksum(b[atAttributes:size], castagnoli))
			b = b[size:]
		}
		d := &decoder{topic: "t"}
		records, next, err := d.decode(data, []aborted{{ProducerID: 7}}, position, nil)
		if err == nil && next < position {
			t.Errorf("position %d became %d", position, next)
		}
		for i := range records {
			if records[i].Offset < position {
				t.Errorf("offset %d before position %d", records[i].Offset, position)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := someBatch(480, Anonymous)
	d := &decoder{topic: "t"}
	var records []record.Raw
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if records, _, err = d.decode(data, nil, 0, records[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(records))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkEncode(b *testing.B) {
	var records []record.Out
	for range 480 {
		records = append(records, record.Out{
			Key: []byte("camera-1"), Value: make([]byte, 300),
			Time: time.UnixMilli(1000),
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		Encode(TopicPartition{"t", 0}, records, Anonymous, "")
	}
	b.ReportMetric(float64(len(records))*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
