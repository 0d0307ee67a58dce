package labels

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Position is a position in the labels topic: the next offset of each partition, followed by the topic's mark,
// a negative number made from its id, unless brokers have no ids. Offsets of a topic that was deleted say
// nothing about the topic made after it.
type Position []int64

// markOf returns the mark of a topic; none for the zero ID.
func markOf(id topic.ID) Position {
	if id == (topic.ID{}) {
		return nil
	}
	return Position{-1 - int64(binary.LittleEndian.Uint64(id[:])>>1)}
}

// Header returns the header of an answer or a correction as of a version: a new owner of its partition then
// knows whether it came before a name was forgotten. It is nil, as is the position, while no name was.
func (v *Version) Header() []record.Header {
	if len(v.naming.forgotten) == 0 {
		return nil
	}
	return []record.Header{v.Next.header()}
}

// header returns the header that says the position; see PositionOf.
func (p Position) header() record.Header {
	var value []byte
	for i, n := range p {
		if i > 0 {
			value = append(value, ',')
		}
		value = strconv.AppendInt(value, n, 10)
	}
	return record.Header{Key: record.LabelsHeader, Value: value}
}

// PositionOf reads the position in a record's header; nil: it has none.
func PositionOf(r *record.Raw) (p Position) {
	value, ok := r.Header(record.LabelsHeader)
	for part := range strings.SplitSeq(string(value), ",") {
		n, err := strconv.ParseInt(part, 10, 64)
		if !ok || err != nil {
			return nil
		}
		p = append(p, n)
	}
	return p
}

// split returns the offsets of a position, and its mark.
func (p Position) split() (offsets, mark Position) {
	n := len(p)
	if n > 0 && p[n-1] < 0 {
		n--
	}
	return p[:n:n], p[n:]
}

// since returns a position for comparison with the version's: one in another topic covers nothing.
func (v *Version) since(p Position) Position {
	_, mine := v.Next.split()
	_, other := p.split()
	if len(mine) > 0 && len(other) > 0 && !slices.Equal(mine, other) {
		return Position{}
	}
	return p
}

// Behind returns by how many offsets a position is behind the version.
func (v *Version) Behind(p Position) int64 { return v.Next.Revision() - v.since(p).Revision() }

// Knew says whether a position covers a record of the version's topic.
func (v *Version) Knew(p Position, r *Record) bool {
	return v.since(p).offset(r.Partition) > r.Offset
}

// offset returns the offset of a partition; 0 if the position does not cover it.
func (p Position) offset(partition int) int64 {
	if partition < len(p) {
		return max(p[partition], 0)
	}
	return 0
}

// Revision returns the number of offsets before the position. It grows with each record, and is the revision
// of the corrections made by the labels at that position.
func (p Position) Revision() (sum int64) {
	offsets, _ := p.split()
	for _, offset := range offsets {
		sum += offset
	}
	return sum
}

// apart returns the number of offsets between two positions.
func apart(a, b Position) (n int64) {
	for p := range max(len(a), len(b)) {
		n += max(a.offset(p)-b.offset(p), b.offset(p)-a.offset(p))
	}
	return n
}
