package pipeline

import (
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/reuse"
)

// encoding is the memory of an episode's results. It belongs to the episode's job until their commit is acknowledged;
// then it serves another.
type encoding struct {
	records   []record.Out
	results   []record.Result // until the observer has seen them
	fallbacks []resultFallback
	headers   []record.Header
	bytes     []byte
}

const (
	resultBytes = 416       // about, with its time
	mostReused  = 512 << 10 // bytes of results whose memory is used again
)

// room makes room for n results with so many headers each.
func (m *encoding) room(n, headers int) {
	m.records = slices.Grow(m.records, n+1)
	m.results = slices.Grow(m.results, n)[:n]
	m.fallbacks = slices.Grow(m.fallbacks, n)[:n]
	m.headers = slices.Grow(m.headers, headers*n)
	m.bytes = slices.Grow(m.bytes, resultBytes*n)
}

// release gives the memory of acknowledged results back.
func (j *job) release() {
	m := j.encoding
	if j.encoding = nil; m == nil || cap(m.bytes) > mostReused {
		return
	}
	*m = encoding{
		records: reuse.Emptied(m.records), results: reuse.Emptied(m.results), fallbacks: reuse.Emptied(m.fallbacks),
		headers: reuse.Emptied(m.headers), bytes: reuse.Spoiled(m.bytes),
	}
	j.of.stage.encodings.Give(m)
}
