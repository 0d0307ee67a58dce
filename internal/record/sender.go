package record

// sender is a stream that records are of. Its vectors of one fetch share memory in pieces, so that a fetch takes little
// of the collector's time: a vector that is kept, or waits in an open episode, holds those beside it, which came with it.
// So one that waits may hold a whole piece, until silence closes its episode. That is not counted: where a fetch ends must
// not decide where an episode does.
type sender struct {
	name   string
	fetch  int // the last one with a vector of it
	rows   int // vectors in that, so far
	before int // vectors in the fetch before it, if it had any
	rest   []float32
}

// pieceNumbers is how many numbers a piece has at most: 64 KiB.
const pieceNumbers = 16 << 10

// NextFetch says that the next records came together. Without, each vector has memory of its own.
func (d *Decoder) NextFetch() {
	d.fetch++
	for _, s := range d.pieced { // what is left of a piece is not used again
		s.rest = nil
	}
	clear(d.pieced)
	d.pieced = d.pieced[:0]
}

// sender returns a stream by its name.
func (d *Decoder) sender(name []byte) *sender {
	if s, known := d.senders[string(name)]; known {
		return s
	}
	const most = 1 << 14
	if len(d.senders) >= most {
		clear(d.senders)
	}
	s := &sender{name: clean(name), fetch: d.fetch}
	d.senders[string(name)] = s
	return s
}

// own returns a copy of a vector of a stream. A piece is for the vectors that are likely to come: as many as the fetch before
// brought, then an eighth of those that have come.
func (d *Decoder) own(s *sender, v []float32) []float32 {
	if s.fetch != d.fetch {
		if s.before = s.rows; s.fetch != d.fetch-1 {
			s.before = 0
		}
		s.fetch, s.rows = d.fetch, 0
	}
	n := len(v)
	if len(s.rest) < n {
		more := min(max(s.before-s.rows, s.rows/8), pieceNumbers/n)
		s.rows++
		if d.fetch == 0 || more < 2 {
			return clone(v)
		}
		s.rest = make([]float32, more*n)
		d.pieced = append(d.pieced, s)
	} else {
		s.rows++
	}
	copy(s.rest, v)
	own := s.rest[:n:n]
	s.rest = s.rest[n:]
	return own
}
