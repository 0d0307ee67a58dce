package stream

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Piece is a part of an encoded stream. A writer may write only the pieces whose bytes have changed, and may
// cut or join their bytes as it likes. A stream is restored from all of its pieces, in any order.
type Piece struct {
	Name  string // head, metric, scatter, shape, time, class/NAME, cluster/ID
	Bytes []byte
}

// Field numbers of the pieces. A number never gets another meaning.
const (
	fieldKind = iota + 1
	fieldName
	fieldModel
	fieldDimension
	fieldFingerprint
	fieldEpisode
	fieldOffset
	fieldObject
	fieldSeen // the sum of the labels topic
	fieldTaught
	fieldCredit
	fieldVerdict // a held-out answer
	fieldTopic
	fieldNextCluster
	fieldPieces
	fieldMean
	fieldMass
	fieldCount
	fieldExample
	fieldID
	fieldVector
	fieldLabel
	fieldAnswered
	fieldZ
	_ // the unknown score of a held-out item, no longer written
	fieldItems
	fieldCentre
	_ // vectors of a metric at full precision, no longer written: such a metric is dropped
	fieldScales
	_ // the episode in which a metric was due, no longer written
	fieldSum
	fieldFreedom
	fieldTrace
	_ // a scatter at full precision, no longer written
	fieldNote
	_ // a settled unknown limit, no longer written
	fieldCodes
	fieldUnits
	fieldSpread // the density of unknown scores
	fieldPending
	fieldPendingFreedom
	fieldAgain
	fieldRecurrenceMass
	fieldOrderDistance
	fieldOrderWeight
	_ // a label was given, no longer written
	_ // the last items and evidence from labels on them, no longer written
	fieldClass
	_ // of the last items
	_
	fieldEvidence
	fieldItemCount
	fieldTrack
	fieldKernel
	fieldApart // how similar different objects are
	_          // the recurrence of clusters, no longer written
	_          // a cluster's recent items, no longer written
	fieldRawMean
	fieldInverse
	fieldRawSum
	_ // merged clusters, no longer written
	fieldLeftOut
	fieldLeftOutFit
	fieldScore
)

// encoder gathers the pieces of a stream.
type encoder struct {
	head    *writer
	names   []string // of pieces, in the order of their beginning
	writers map[string]*writer
}

// piece begins or continues a piece.
func (e *encoder) piece(name, kind string) *writer {
	w := e.writers[name]
	if w == nil {
		w = newWriter()
		w.text(fieldKind, kind)
		e.writers[name] = w
		e.names = append(e.names, name)
	}
	return w
}

// class returns the piece of a class, to which several parts may add.
func (e *encoder) class(name string) *writer {
	before := len(e.names)
	w := e.piece("class/"+name, "class")
	if len(e.names) > before {
		w.text(fieldName, name)
	}
	return w
}

// State encodes the stream: the head first, then its parts. The same stream gives the same bytes.
func (s *Stream) State() []Piece {
	s.Learn()
	e := encoder{head: newWriter(), writers: map[string]*writer{}}
	w := e.head
	w.text(fieldKind, "head")
	w.text(fieldName, s.Name)
	w.text(fieldModel, s.model)
	w.integer(fieldDimension, int64(s.dimension))
	w.integer(fieldFingerprint, int64(s.settings.fingerprint()))
	w.integer(fieldEpisode, s.episode)
	w.integer(fieldOffset, s.learned.Offset)
	w.integer(fieldObject, int64(s.learned.Object))
	w.integer(fieldSeen, int64(s.topic))
	w.text(fieldKernel, kernel.Name())
	for _, note := range s.notes {
		w.text(fieldNote, note)
	}
	for _, p := range s.parts() {
		p.encode(&e)
	}
	w.integer(fieldPieces, int64(len(e.names)))
	out := []Piece{{"head", w.sealed()}}
	for _, name := range e.names {
		out = append(out, Piece{name, e.writers[name].sealed()})
	}
	return out
}

// field is one field of a piece as it is read back.
type field struct {
	*reader
	kind      string // of the piece
	class     string // the name in a class piece
	number    int    // 0: the piece ends here
	dimension int    // of the stream
}

// is reports whether the field has this number, in a piece of this kind.
func (f *field) is(kind string, number int) bool { return f.kind == kind && f.number == number }

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
		out.restart("settings that change what the state means are not those it was learned with")
	}
	if now := kernel.Name(); head.kernel != "" && head.kernel != now {
		out.note("the state was learned with the vector unit %s, and %s goes on: answers may differ in their last bits", head.kernel, now)
	}
	return out, nil
}

// SameVersion returns an error if a piece is not of the version that this build reads. It does not
// decode the pieces.
func SameVersion(pieces []Piece) error {
	for _, p := range pieces {
		b := p.Bytes
		if len(b) > len(magic) && string(b[:len(magic)]) == magic && b[len(magic)] != version {
			return fmt.Errorf("%w: %s has version %d, this build reads %d", ErrState, p.Name, b[len(magic)], version)
		}
	}
	return nil
}

// Inspect describes an encoded stream, whatever the settings it was learned with.
func Inspect(pieces []Piece) (Summary, error) {
	s := New("", Settings{})
	if _, err := s.decodePieces(pieces); err != nil {
		return Summary{}, err
	}
	return s.Summary(), nil
}

// head holds the fields of the head that Restore checks.
type head struct {
	pieces      int
	fingerprint uint64
	kernel      string // that it was learned with; "": the state is too old to have it
}

func (s *Stream) decodePieces(pieces []Piece) (h head, err error) {
	sorted := slices.Clone(pieces)
	slices.SortFunc(sorted, func(a, b Piece) int { // the head, which has the dimension, before all others
		if first := a.Name == "head"; first != (b.Name == "head") {
			if first {
				return -1
			}
			return 1
		}
		return bytes.Compare([]byte(a.Name), []byte(b.Name))
	})
	if len(sorted) == 0 || sorted[0].Name != "head" {
		return h, fmt.Errorf("%w: %d pieces without a head", ErrState, len(sorted))
	}
	for i, piece := range sorted {
		if i > 0 && piece.Name == sorted[i-1].Name {
			return h, fmt.Errorf("%w: %s twice", ErrState, piece.Name)
		}
		r, err := open(piece.Bytes)
		if err == nil && i == 0 {
			err = s.decodeHead(r, &h)
		} else if err == nil {
			err = s.decodePart(r)
		}
		if err != nil {
			return h, fmt.Errorf("state %s: %w", piece.Name, err)
		}
	}
	if h.pieces != len(sorted)-1 {
		return h, fmt.Errorf("%w: %d parts of %d", ErrState, len(sorted)-1, h.pieces)
	}
	return h, nil
}

func (s *Stream) decodeHead(r *reader, h *head) error {
	parts := s.parts()
	f := &field{reader: r, kind: "head"}
	for f.number = r.next(); f.number != 0; f.number = r.next() {
		switch f.number {
		case fieldKind:
			if r.text() != "head" {
				return fmt.Errorf("%w: a %q instead of the head", ErrState, r.text())
			}
		case fieldName:
			s.Name = r.text()
		case fieldModel:
			s.model = r.text()
		case fieldDimension:
			s.dimension = int(r.integer())
		case fieldFingerprint:
			h.fingerprint = uint64(r.integer())
		case fieldEpisode:
			s.episode = r.integer()
		case fieldOffset:
			s.learned.Offset = r.integer()
		case fieldObject:
			s.learned.Object = int32(r.integer())
		case fieldSeen:
			s.topic = uint64(r.integer())
		case fieldNote:
			s.notes = append(s.notes, r.text())
		case fieldKernel:
			h.kernel = r.text()
		case fieldPieces:
			h.pieces = int(r.integer())
		default:
			offer(parts, f)
		}
	}
	if r.err == nil && (s.dimension < 0 || s.episode < 0) {
		r.fail("dimension or episode")
	}
	f.dimension = s.dimension
	offer(parts, f)
	return r.err
}

// decodePart reads a piece other than the head. A piece of an unknown kind is ignored.
func (s *Stream) decodePart(r *reader) error {
	if r.next() != fieldKind {
		return fmt.Errorf("%w: a part without its kind", ErrState)
	}
	parts := s.parts()
	f := &field{reader: r, kind: r.text(), dimension: s.dimension}
	if f.kind == "head" {
		return fmt.Errorf("%w: a second head", ErrState)
	}
	for f.number = r.next(); f.number != 0; f.number = r.next() {
		if f.is("class", fieldName) {
			f.class = r.text()
		}
		offer(parts, f)
	}
	offer(parts, f)
	return r.err
}

func offer(parts []part, f *field) {
	for _, p := range parts {
		if f.err == nil {
			p.decode(f)
		}
	}
}
