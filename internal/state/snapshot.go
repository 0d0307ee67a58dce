package state

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
)

// chunkBytes bounds a chunk's value, well below the brokers' default limit for one record.
const chunkBytes = 512 << 10

// Snapshot is one stream's memory at one moment.
type Snapshot struct {
	Stream  record.StreamID
	Commit  int64 // its owner's commit that it is part of
	Version int64 // no other snapshot of its owner has it, and later ones have higher ones
	Learned record.Position
	Labels  []int64   // the offsets of the labels topic in force at its last answer
	Seen    time.Time // event time of its last item
	Pieces  []Piece   // the encoded memory
	Written time.Time // when it reached the state topic; set only if restored
}

// Piece is a named part of a stream's memory.
type Piece = stream.Piece

// Bytes is the size of the memory.
func (s *Snapshot) Bytes() int {
	n := 0
	for _, p := range s.Pieces {
		n += len(p.Name) + len(p.Bytes)
	}
	return n
}

// chunks cuts the snapshot into values of at most so many bytes. Each names its version, so that an
// incomplete version is recognised and ignored.
func (s *Snapshot) chunks(most int) [][]byte {
	const numbers = 64 // bytes in front of a chunk's part of the body, at most
	head := func(b []byte, index, count int) []byte {
		b = binary.AppendVarint(append(b, begin()...), s.Commit)
		b = binary.AppendVarint(b, s.Version)
		return binary.AppendVarint(binary.AppendVarint(b, int64(index)), int64(count))
	}
	whole := head(make([]byte, 0, s.Bytes()+numbers+128+10*(len(s.Labels)+2*len(s.Pieces))), 0, 1) // usually all
	from := len(whole)
	whole = appendPosition(whole, s.Learned)
	whole = appendTime(whole, s.Seen)
	whole = binary.AppendVarint(whole, int64(len(s.Labels)))
	for _, l := range s.Labels {
		whole = binary.AppendVarint(whole, l)
	}
	whole = binary.AppendVarint(whole, int64(len(s.Pieces)))
	for _, p := range s.Pieces {
		whole = appendText(whole, p.Name)
		whole = append(binary.AppendUvarint(whole, uint64(len(p.Bytes))), p.Bytes...)
	}
	body, room := whole[from:], most-numbers
	if len(body) <= room {
		return [][]byte{seal(whole)}
	}
	values := make([][]byte, (len(body)+room-1)/room)
	for i := range values {
		part := body[i*room : min(len(body), (i+1)*room)]
		values[i] = seal(append(head(make([]byte, 0, numbers+len(part)), i, len(values)), part...))
	}
	return values
}

// chunk is one value, decoded except for body, its part of the snapshot.
type chunk struct {
	commit, version int64
	index, count    int
	body            []byte
	key             string // set only where a partition is restored
}

func decodeChunk(value []byte) (chunk, error) {
	r := open(value)
	c := chunk{commit: r.integer(), version: r.integer(), index: int(r.integer()), count: int(r.integer())}
	r.check(c.index >= 0 && c.index < c.count, "chunk number")
	c.body = r.Src
	return c, r.err
}

// join decodes a snapshot from all of its chunks, in order.
func join(stream record.StreamID, chunks []chunk) (*Snapshot, error) {
	s := &Snapshot{Stream: stream, Commit: chunks[0].commit, Version: chunks[0].version}
	body := chunks[0].body
	if len(chunks) > 1 {
		body = nil
		for _, c := range chunks {
			body = append(body, c.body...)
		}
	}
	r := &reader{Reader: kbin.Reader{Src: body}}
	s.Learned = r.position()
	s.Seen = r.time()
	for range r.count() {
		s.Labels = append(s.Labels, r.integer())
	}
	for range r.count() {
		s.Pieces = append(s.Pieces, Piece{Name: r.text(), Bytes: r.bytes()})
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("stream %q: %w", stream.Name, err)
	}
	return s, nil
}
