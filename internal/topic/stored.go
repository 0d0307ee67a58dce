package topic

import (
	"encoding/binary"
	"hash/crc32"
)

// StoredBatch is the bytes of a log from the beginning of a batch on, BatchHead at least where its fields are read.
type StoredBatch []byte

// Claimed is the size that the batch claims; 0: there are fewer bytes than a batch has.
func (b StoredBatch) Claimed() int {
	if len(b) < BatchHead {
		return 0
	}
	return atLength + 4 + int(binary.BigEndian.Uint32(b[atLength:]))
}

// Size is that of the batch; 0: there is no whole one.
func (b StoredBatch) Size() int {
	size := b.Claimed()
	if size < BatchHead || size > len(b) || b[atMagic] != 2 ||
		binary.BigEndian.Uint32(b[atChecksum:]) != crc32.Checksum(b[atAttributes:size], castagnoli) {
		return 0
	}
	return size
}

// First is the batch's first offset.
func (b StoredBatch) First() int64 { return int64(binary.BigEndian.Uint64(b)) }

// Last is its last offset.
func (b StoredBatch) Last() int64 { return b.First() + int64(b.Delta()) }

// Delta is how far its last offset is from the first.
func (b StoredBatch) Delta() int32 { return int32(binary.BigEndian.Uint32(b[atLastDelta:])) }

// Leader is the epoch of the leader that took it.
func (b StoredBatch) Leader() int32 { return int32(binary.BigEndian.Uint32(b[atLeader:])) }

// InTransaction says whether its records are part of a transaction, which a later batch ends.
func (b StoredBatch) InTransaction() bool {
	return binary.BigEndian.Uint16(b[atAttributes:])&(attributeTransactional|attributeControl) == attributeTransactional
}

// Empty makes all of b a batch without records that has these offsets.
func (b StoredBatch) Empty(first, last int64) {
	clear(b)
	binary.BigEndian.PutUint64(b, uint64(first))
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-atLength-4))
	b[atMagic] = 2
	binary.BigEndian.PutUint32(b[atLastDelta:], uint32(last-first))
	for i := atProducer; i < atCount; i++ { // no producer, epoch or sequence
		b[i] = 0xff
	}
	binary.BigEndian.PutUint32(b[atChecksum:], crc32.Checksum(b[atAttributes:], castagnoli))
}
