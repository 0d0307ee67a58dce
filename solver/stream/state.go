package stream

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Piece is a part of an encoded stream. A writer may write only the pieces whose bytes have changed, and may
// cut or join their bytes as it likes. A stream is restored from all of its pieces, in any order.
type Piece struct {
	Name  string // head, metric, scatter, embedder, time, before, earlier, class/NAME, cluster/ID
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
	fieldPredicted
	fieldZ
	_ // the unknown score of a held-out item, no longer written
	fieldItems
	_ // the centre of a metric about an unknown mean, no longer written
	_ // vectors of a metric at full precision, no longer written: such a metric is dropped
	fieldScales
	_        // the episode in which a metric was due, no longer written
	fieldSum // of rows that are not judged yet
	fieldFreedom
	fieldTrace
	_ // a scatter at full precision, no longer written
	fieldNote
	_ // a settled unknown limit, no longer written
	fieldCodes
	fieldUnits
	fieldSpread // the density of unknown scores
	fieldPending
	_ // residuals that waited, no longer written
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
	_ // how similar different objects are, no longer written
	_ // the recurrence of clusters, no longer written
	_ // a cluster's recent items, no longer written
	fieldRawMean
	fieldInverse
	fieldRawSum
	_ // merged clusters, no longer written
	fieldLeftOut
	_ // a fit of the confidence to these, no longer written
	fieldScore
	fieldTrackLabel
	fieldLinkedItem
	fieldUnitRow
	fieldFrame
	fieldPosition
	fieldEarlierItem
	fieldUsual // likeness of shapes
	fieldHalfBytes
	fieldDirections
	fieldProducts
	fieldProductScales
	fieldAbout
	fieldShorts
	fieldWeights
	fieldApart
)

// head holds the fields of the head that Restore checks.
type head struct {
	pieces      int
	fingerprint uint64
	kernel      string // that it was learned with; "": the state is too old to have it
}

// State encodes the stream: the head first, then its parts. The same stream gives the same bytes.
func (s *Stream) State() []Piece {
	s.Learn()
	out := make([]Piece, 1, 8+len(s.classes.kept)+len(s.clusters.list))
	add := func(name string, f *fields) {
		f.writes, f.dimension = true, s.dimension
		text(f, fieldKind, &f.kind)
		before := len(f.b)
		if s.fields(f); len(f.b) > before {
			out = append(out, Piece{name, f.sealed()})
		}
	}
	for _, kind := range []string{"metric", "scatter", "time", "embedder", "before", "earlier"} {
		add(kind, &fields{kind: kind})
	}
	known := maps.Clone(s.proportions.counts)
	if known == nil {
		known = map[string]float64{}
	}
	for name := range s.classes.kept {
		known[name] = 0
	}
	for name := range s.prototypes.of {
		known[name] = 0
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		add("class/"+name, &fields{kind: "class", name: name})
	}
	for i, c := range s.clusters.list {
		add(fmt.Sprintf("cluster/%d", c.id), &fields{kind: "cluster", index: i})
	}
	f := &fields{kind: "head", writes: true, dimension: s.dimension}
	text(f, fieldKind, &f.kind)
	s.headFields(f, &head{len(out) - 1, s.settings.fingerprint(), kernel.Name()})
	s.fields(f)
	out[0] = Piece{"head", f.sealed()}
	return out
}

// headFields are those of the head that are of no part.
func (s *Stream) headFields(f *fields, h *head) {
	text(f, fieldName, &s.Name)
	text(f, fieldModel, &s.model)
	integer(f, fieldDimension, &s.dimension)
	integer(f, fieldFingerprint, &h.fingerprint)
	integer(f, fieldEpisode, &s.episode)
	integer(f, fieldOffset, &s.learned.Offset)
	integer(f, fieldObject, &s.learned.Object)
	integer(f, fieldSeen, &s.topic)
	text(f, fieldKernel, &h.kernel)
	list(f, fieldNote, &s.notes, text[string])
	integer(f, fieldPieces, &h.pieces)
	f.check(s.dimension >= 0 && s.episode >= 0, "dimension or episode")
	f.dimension = s.dimension
}

// fields are those that the parts have in a piece. A piece of an unknown kind has none.
func (s *Stream) fields(f *fields) {
	if f.kind == "class" {
		text(f, fieldName, &f.name)
	}
	for _, p := range s.parts() {
		if f.err == nil {
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
		out.note(
			"the state was learned with the vector unit %s, and %s goes on: answers may differ in their last bits",
			head.kernel,
			now,
		)
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

// Peek returns how many episodes an encoded stream has answered, and whether labelled items of its own feed have taught it.
// It looks at no more, and no pieces are a new stream: that Restore reads the rest is not sure.
func Peek(pieces []Piece) (episodes int64, taught bool, err error) {
	for _, p := range pieces {
		f, err := open(p.Bytes)
		if err != nil {
			return 0, false, fmt.Errorf("state %s: %w", p.Name, err)
		}
		switch text(f, fieldKind, &f.kind); f.kind {
		case "head":
			integer(f, fieldEpisode, &episodes)
		case "class":
			taught = taught || len(f.values[fieldExample]) > 0
		}
	}
	return episodes, taught, nil
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
	for i, piece := range sorted {
		if i > 0 && piece.Name == sorted[i-1].Name {
			return h, fmt.Errorf("%w: %s twice", ErrState, piece.Name)
		}
		f, err := open(piece.Bytes)
		if err == nil {
			f.dimension = s.dimension
			text(f, fieldKind, &f.kind)
			if f.check(f.kind != "" && (f.kind == "head") == (i == 0), "kind of piece"); i == 0 {
				s.headFields(f, &h)
			}
			s.fields(f)
			err = f.err
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
