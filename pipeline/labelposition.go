package pipeline

import (
	"encoding/binary"
	"slices"

	"github.com/slkstream/slkstream/internal/topic"
)

// A position in the labels topic is the next offset of each partition, followed by the topic's mark, a
// negative number made from its id, unless brokers have no ids. Offsets of a topic that was deleted say
// nothing about the topic made after it.

// markOf returns the mark of a topic; none for the zero ID.
func markOf(id topic.ID) []int64 {
	if id == (topic.ID{}) {
		return nil
	}
	return []int64{-1 - int64(binary.LittleEndian.Uint64(id[:])>>1)}
}

// split returns the offsets of a position, and its mark.
func split(next []int64) (offsets, mark []int64) {
	n := len(next)
	if n > 0 && next[n-1] < 0 {
		n--
	}
	return next[:n:n], next[n:]
}

// since returns a position for comparison with the view's: one in another topic covers nothing.
func (v *view) since(next []int64) []int64 {
	_, mine := split(v.next)
	_, other := split(next)
	if len(mine) > 0 && len(other) > 0 && !slices.Equal(mine, other) {
		return []int64{}
	}
	return next
}

// offsetOf returns the offset of a partition; 0 if the position does not cover it.
func offsetOf(next []int64, partition int) int64 {
	if partition < len(next) {
		return max(next[partition], 0)
	}
	return 0
}

// position returns the number of offsets of the labels topic before a version. It grows with each record, and
// is the revision of the corrections made by that version.
func position(next []int64) (sum int64) {
	offsets, _ := split(next)
	for _, offset := range offsets {
		sum += offset
	}
	return sum
}

// apart returns the number of offsets between two positions.
func apart(a, b []int64) (n int64) {
	for p := range max(len(a), len(b)) {
		n += max(offsetOf(a, p)-offsetOf(b, p), offsetOf(b, p)-offsetOf(a, p))
	}
	return n
}
