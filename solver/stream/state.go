package stream

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// Piece is a part of an encoded stream. A writer may write only the pieces whose bytes have changed, and may
// cut or join their bytes as it likes. A stream is restored from all of its pieces, in any order.
type Piece struct {
	Name  string // head, metric, scatter, embedder, time, before, earlier, class/NAME, cluster/ID
	Bytes []byte
}

// ErrState is wrapped by the error for bytes that are not a state: cut, changed, or of a format that this
// build cannot read.
var ErrState = piece.ErrState

// head holds the fields of the head that Restore checks.
type head struct {
	pieces      int
	fingerprint uint64
	kernel      string // that it was learned with; "": the state is too old to have it
}

// State encodes the stream: the head first, then its parts. The same stream gives the same bytes.
func (s *Stream) State() []Piece {
	s.Learn()
	out := make([]Piece, 1, 8+len(s.classes.kept))
	memory := written.Get().(*piece.Fields)
	defer written.Put(memory)
	begin := func(f *piece.Fields) {
		f.Writes, f.Dimension = true, s.dimension
		f.Over(memory)
		piece.Text(f, piece.Kind, &f.Kind)
	}
	add := func(name string, f *piece.Fields) {
		begin(f)
		before := f.Len()
		if s.fields(f); f.Len() > before {
			out = append(out, Piece{name, f.Sealed()})
		}
		memory.Over(f)
	}
	each(s.state, func(p storer) {
		for _, kind := range p.kinds() {
			add(kind, &piece.Fields{Kind: kind})
		}
	})
	var known []string
	each(s.state, func(p knower) { known = slices.AppendSeq(known, p.known()) })
	slices.Sort(known)
	for _, name := range slices.Compact(known) {
		add("class/"+name, &piece.Fields{Kind: "class", Name: name})
	}
	for i, id := range s.clusters.IDs() {
		add(fmt.Sprintf("cluster/%d", id), &piece.Fields{Kind: "cluster", Index: i})
	}
	f := &piece.Fields{Kind: "head"}
	begin(f)
	s.headFields(f, &head{len(out) - 1, s.settings.fingerprint(), kernel.Name()})
	s.fields(f)
	out[0] = Piece{"head", f.Sealed()}
	return out
}

// written is memory in which pieces are written, of which State returns copies.
var written = sync.Pool{New: func() any { return new(piece.Fields) }}

// headFields are those of the head that are of no part.
func (s *Stream) headFields(f *piece.Fields, h *head) {
	piece.Text(f, piece.Name, &s.Name)
	piece.Text(f, piece.Model, &s.model)
	piece.Integer(f, piece.Dimension, &s.dimension)
	piece.Integer(f, piece.Fingerprint, &h.fingerprint)
	piece.Integer(f, piece.Episode, &s.episode)
	piece.Integer(f, piece.Turn, &s.turn)
	piece.Integer(f, piece.Offset, &s.learned.Offset)
	piece.Integer(f, piece.Object, &s.learned.Object)
	piece.Integer(f, piece.Seen, &s.topic)
	piece.Text(f, piece.Kernel, &h.kernel)
	piece.List(f, piece.Note, &s.notes, piece.Text[string])
	piece.Integer(f, piece.Pieces, &h.pieces)
	f.Check(s.dimension >= 0 && s.episode >= 0, "dimension or episode")
	f.Dimension = s.dimension
}

// fields are those that the parts have in a piece. A piece of an unknown kind has none.
func (s *Stream) fields(f *piece.Fields) {
	if f.Kind == "class" {
		piece.Text(f, piece.Name, &f.Name)
	}
	for _, p := range s.parts() {
		if f.Err == nil {
			p.fields(f)
		}
	}
}

// Restore decodes a stream. State that is cut, changed or of a format that this build cannot read gives
// an error that wraps ErrState. State to which other settings give another meaning is dropped: the
// stream starts from its labels, keeps its episode number and the position it learned to, and notes that
// in its next report.
func Restore(s Settings, pieces []Piece) (*Stream, error) {
	out := New("", s)
	head, err := out.decodePieces(pieces)
	if err != nil {
		return nil, err
	}
	if head.fingerprint != s.filled().fingerprint() {
		out.restart("the state was learned with other settings of those that define it: " +
			"discover, warm, or of the solver file power, metric-rank, metric-shrink")
	}
	if now := kernel.Name(); head.kernel != "" && head.kernel != now {
		out.note("the state was learned with the vector unit %s, and %s goes on: answers may differ in their last bits",
			head.kernel, now)
	}
	return out, nil
}

// SameVersion returns an error if a piece is not of the version that this build reads. It does not
// decode the pieces.
func SameVersion(pieces []Piece) error {
	for _, p := range pieces {
		if err := piece.SameVersion(p.Bytes); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// Outline is what Peek sees of an encoded stream.
type Outline struct {
	Episodes int64 // answered
	Taught   bool  // labelled items of its own feed have taught it
	Metric   int   // bytes of what DropMetric drops
}

// Peek looks at no more of an encoded stream than its outline, and no pieces are a new stream: that Restore reads the rest is
// not sure.
func Peek(pieces []Piece) (out Outline, err error) {
	for _, p := range pieces {
		f, err := piece.Open(p.Bytes)
		if err != nil {
			return Outline{}, fmt.Errorf("state %s: %w", p.Name, err)
		}
		switch piece.Text(f, piece.Kind, &f.Kind); f.Kind {
		case "head":
			piece.Integer(f, piece.Episode, &out.Episodes)
		case "class":
			_, has := f.Last(piece.Example)
			out.Taught = out.Taught || has
		case "metric", "scatter":
			out.Metric += len(p.Bytes)
		}
	}
	return out, nil
}

// Inspect describes an encoded stream, whatever the settings it was learned with.
func Inspect(pieces []Piece) (Summary, error) {
	s := New("", Settings{})
	if _, err := s.decodePieces(pieces); err != nil {
		return Summary{}, err
	}
	return s.Summary(), nil
}

// decodePieces reads the head, which has the dimension, before all others.
func (s *Stream) decodePieces(pieces []Piece) (h head, err error) {
	sorted := slices.Clone(pieces)
	order := func(p Piece) int {
		if p.Name == "head" {
			return 0
		}
		return 1
	}
	slices.SortFunc(sorted, func(a, b Piece) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a.Name, b.Name))
	})
	if len(sorted) == 0 || sorted[0].Name != "head" {
		return h, fmt.Errorf("%w: %d pieces without a head", ErrState, len(sorted))
	}
	for i, p := range sorted {
		if i > 0 && p.Name == sorted[i-1].Name {
			return h, fmt.Errorf("%w: %s twice", ErrState, p.Name)
		}
		f, err := piece.Open(p.Bytes)
		if err == nil {
			f.Dimension = s.dimension
			piece.Text(f, piece.Kind, &f.Kind)
			if f.Check(f.Kind != "" && (f.Kind == "head") == (i == 0), "kind of piece"); i == 0 {
				s.headFields(f, &h)
			}
			s.fields(f)
			err = f.Err
		}
		if err != nil {
			return h, fmt.Errorf("state %s: %w", p.Name, err)
		}
	}
	if h.pieces != len(sorted)-1 {
		return h, fmt.Errorf("%w: %d parts of %d", ErrState, len(sorted)-1, h.pieces)
	}
	return h, nil
}
