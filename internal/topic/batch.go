package topic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"time"

	"github.com/segmentio/kafka-go/compress"
	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/slkstream/slkstream/internal/record"
)

// The layout of a record batch, version 2, by byte: base offset 0, length 8, leader epoch 12, magic 16,
// checksum 17, attributes 21, last offset delta 23, first time 27, highest time 35, producer id 43, epoch 51,
// base sequence 53, count 57, records 61. The checksum covers the bytes from the attributes on. The length
// counts the bytes after it.
const (
	atLength     = 8
	atLeader     = 12
	atMagic      = 16
	atChecksum   = 17
	atAttributes = 21
	atLastDelta  = 23
	atFirstTime  = 27
	atMaxTime    = 35
	atProducer   = 43
	atEpoch      = 51
	atSequence   = 53
	atCount      = 57
	BatchHead    = 61 // bytes of a batch before its records

	attributeCompression   = 0x07
	attributeLogAppendTime = 0x08
	attributeTransactional = 0x10
	attributeControl       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns that of a batch.
func checksum(batch []byte) uint32 { return crc32.Checksum(batch[atAttributes:], castagnoli) }

// RaiseHighestTime sets the highest time of a batch's records, from which brokers count how long they keep it, to another one if
// it is not after oldest. The records keep their own times. What is no whole batch with its checksum stays as it is.
func RaiseHighestTime(batch []byte, oldest, to time.Time) {
	if len(batch) < BatchHead || int(binary.BigEndian.Uint32(batch[atLength:]))+atLength+4 != len(batch) ||
		time.UnixMilli(int64(binary.BigEndian.Uint64(batch[atMaxTime:]))).After(oldest) ||
		binary.BigEndian.Uint32(batch[atChecksum:]) != checksum(batch) {
		return
	}
	binary.BigEndian.PutUint64(batch[atMaxTime:], uint64(to.UnixMilli()))
	binary.BigEndian.PutUint32(batch[atChecksum:], checksum(batch))
}

// Stamp is a producer's identity in a batch. For an idempotent producer the broker accepts a batch only if
// its sequence follows the last one of that producer and epoch in the partition, and drops a repeated one.
type Stamp struct {
	Producer      int64
	Epoch         int16
	Sequence      int32 // of the batch's first record
	Transactional bool
}

// Compression is the codec of batches: none, lz4 or zstd; "" is none.
type Compression string

func (c Compression) codec() compress.Compression {
	// any other is compress.None, which is 0
	return map[Compression]compress.Compression{"lz4": compress.Lz4, "zstd": compress.Zstd}[c]
}

// Anonymous is the stamp of a producer that is not idempotent.
var Anonymous = Stamp{-1, -1, -1, false}

// compressed returns the batch with its records compressed, or the batch itself if that is not smaller.
func compressed(batch []byte, how Compression) []byte {
	codec := how.codec()
	if codec == compress.None {
		return batch
	}
	var packed bytes.Buffer
	packed.Grow(len(batch) / 2)
	packed.Write(batch[:BatchHead])
	w := codec.Codec().NewWriter(&packed)
	_, err := w.Write(batch[BatchHead:])
	if err = errors.Join(err, w.Close()); err != nil || packed.Len() >= len(batch) {
		return batch // the error is the codec's, as a buffer has none: send uncompressed
	}
	b := packed.Bytes()
	binary.BigEndian.PutUint16(b[atAttributes:], binary.BigEndian.Uint16(b[atAttributes:])|uint16(codec))
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-atLength-4))
	binary.BigEndian.PutUint32(b[atChecksum:], checksum(b))
	return b
}

// appendBatch appends a batch of records, at least one, to buffer. A record without a time gets now.
func appendBatch(buffer []byte, records []record.Out, stamp Stamp, now time.Time) []byte {
	at := len(buffer)
	buffer = append(buffer, make([]byte, BatchHead)...)
	first := milliseconds(records[0].Time, now)
	highest := first
	for i := range records {
		r := &records[i]
		t := milliseconds(r.Time, now)
		highest = max(highest, t)
		buffer = kbin.AppendVarint(buffer, int32(recordSize(r, t-first, i)))
		buffer = append(buffer, 0)
		buffer = kbin.AppendVarlong(buffer, t-first)
		buffer = kbin.AppendVarint(buffer, int32(i))
		buffer = kbin.AppendVarintBytes(buffer, r.Key)
		buffer = kbin.AppendVarintBytes(buffer, r.Value)
		buffer = kbin.AppendVarint(buffer, int32(len(r.Headers)))
		for _, h := range r.Headers {
			buffer = kbin.AppendVarintString(buffer, h.Key)
			buffer = kbin.AppendVarintBytes(buffer, h.Value)
		}
	}
	b := buffer[at:]
	var attributes uint16
	if stamp.Transactional {
		attributes = attributeTransactional
	}
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-atLength-4))
	binary.BigEndian.PutUint32(b[atLeader:], math.MaxUint32) // leader epoch: the broker sets it
	b[atMagic] = 2
	binary.BigEndian.PutUint16(b[atAttributes:], attributes)
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(len(records)-1))
	binary.BigEndian.PutUint64(b[atFirstTime:], uint64(first))
	binary.BigEndian.PutUint64(b[atMaxTime:], uint64(highest))
	binary.BigEndian.PutUint64(b[atProducer:], uint64(stamp.Producer))
	binary.BigEndian.PutUint16(b[atEpoch:], uint16(stamp.Epoch))
	binary.BigEndian.PutUint32(b[atSequence:], uint32(stamp.Sequence))
	binary.BigEndian.PutUint32(b[atCount:], uint32(len(records)))
	binary.BigEndian.PutUint32(b[atChecksum:], checksum(b))
	return buffer
}

func milliseconds(t, now time.Time) int64 {
	if t.IsZero() {
		t = now
	}
	return max(t.UnixMilli(), 0)
}

func recordSize(r *record.Out, timeDelta int64, offsetDelta int) int {
	n := 1 + kbin.VarlongLen(timeDelta) + kbin.VarintLen(int32(offsetDelta)) + sized(len(r.Key)) +
		sized(len(r.Value)) + kbin.VarintLen(int32(len(r.Headers)))
	for _, h := range r.Headers {
		n += sized(len(h.Key)) + sized(len(h.Value))
	}
	return n
}

// sized is the size of bytes with their length before them, which takes one byte for nil too.
func sized(bytes int) int { return kbin.VarintLen(int32(bytes)) + bytes }

// sizeAtMost is an upper bound for the size of a record in a batch.
func sizeAtMost(r *record.Out) int {
	return recordSize(r, math.MaxInt64, math.MaxInt32) + binary.MaxVarintLen32
}
