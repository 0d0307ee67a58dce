package stream

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/solver/metric"
)

// Restore reads a stream back. State that is cut, changed or of a format this build cannot read gives an error that wraps
// ErrState; state that other settings give another meaning is left behind: the stream starts from its labels, keeps its
// episode number and the place it learned to, and says so in its next report.
func Restore(s Settings, pieces []Piece) (*Stream, error) {
	out := New("", s)
	parts, heads := 0, 0
	var fingerprint int64
	var rest []Piece
	for _, piece := range pieces {
		if piece.Name == "head" {
			heads++
			var err error
			if parts, fingerprint, err = out.decodeHead(piece.Bytes); err != nil {
				return nil, fmt.Errorf("state %s: %w", piece.Name, err)
			}
			continue
		}
		rest = append(rest, piece)
	}
	if heads != 1 || parts != len(rest) {
		return nil, fmt.Errorf("%w: %d heads and %d parts of %d", ErrState, heads, len(rest), parts)
	}
	if uint64(fingerprint) != out.settings.fingerprint() {
		out.fresh("settings that change what the state means are not those it was learned with")
		return out, nil
	}
	slices.SortFunc(rest, func(a, b Piece) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	for i, piece := range rest {
		if i > 0 && piece.Name == rest[i-1].Name {
			return nil, fmt.Errorf("%w: %s twice", ErrState, piece.Name)
		}
		if err := out.decodePart(piece.Bytes); err != nil {
			return nil, fmt.Errorf("state %s: %w", piece.Name, err)
		}
	}
	slices.SortFunc(out.clusters.list, func(a, b *cluster) int { return int(a.id - b.id) })
	return out, nil
}

func (s *Stream) decodeHead(b []byte) (parts int, fingerprint int64, err error) {
	r, err := open(b)
	if err != nil {
		return 0, 0, err
	}
	s.topic = map[uint64]bool{}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case fieldKind:
			if r.text() != "head" {
				return 0, 0, fmt.Errorf("%w: a %q in the place of the head", ErrState, r.text())
			}
		case fieldName:
			s.Name = r.text()
		case fieldModel:
			s.model = r.text()
		case fieldDimension:
			s.dimension = int(r.integer())
		case fieldFingerprint:
			fingerprint = r.integer()
		case fieldEpisode:
			s.episode = r.integer()
		case fieldOffset:
			s.learned.Offset = r.integer()
		case fieldObject:
			s.learned.Object = int32(r.integer())
		case fieldSeen:
			s.seen = uint64(r.integer())
		case fieldTaught:
			s.taught = r.integer() != 0
		case fieldCredit:
			s.credit = r.float()
		case fieldAgain:
			s.recurrence.again = r.float()
		case fieldRecurrenceMass:
			s.recurrence.mass = r.float()
		case fieldSpread:
			copy(s.spread[:], r.doubles(len(s.spread)))
		case fieldNextCluster:
			s.clusters.next = r.integer()
		case fieldSum:
			s.clusters.sum = r.doubles(-1)
		case fieldCount:
			s.clusters.count = r.float()
		case fieldPieces:
			parts = int(r.integer())
		case fieldTopic:
			s.topic[uint64(r.integer())] = true
		case fieldNote:
			s.notes = append(s.notes, r.text())
		case fieldVerdict:
			var v verdict
			r.group(v.decode)
			s.verdicts = append(s.verdicts, v)
		}
	}
	if r.err == nil && (s.dimension < 0 || s.episode < 0 || s.clusters.sum != nil && len(s.clusters.sum) != s.dimension) {
		r.fail("dimension or episode")
	}
	if v := s.recurrence; r.err == nil && !(v.again >= 0 && v.again <= v.mass*(1+1e-9)) {
		r.fail("recurrence")
	}
	return parts, fingerprint, r.err
}

func (v *verdict) decode(r *reader) {
	one := func() float32 {
		if x := r.vector(1); x != nil {
			return x[0]
		}
		return 0
	}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case fieldID:
			v.id = r.text()
		case fieldLabel:
			v.label = r.text()
		case fieldAnswered:
			v.answered = r.text()
		case fieldZ:
			v.z = one()
		case fieldDistance:
			v.distance = one()
		case fieldTopic:
			v.topic = r.integer() != 0
		}
	}
}

func (s *Stream) decodePart(b []byte) error {
	r, err := open(b)
	if err != nil {
		return err
	}
	if r.next() != fieldKind {
		return fmt.Errorf("%w: a part without its kind", ErrState)
	}
	switch kind := r.text(); kind {
	case "class":
		s.decodeClass(r)
	case "cluster":
		s.decodeCluster(r)
	case "metric", "next":
		m, due := s.decodeMetric(r)
		if kind == "metric" {
			s.metric.current = m
		} else {
			s.metric.next = &Refresh{Due: due, metric: m}
			s.metric.next.once.Do(func() {})
		}
	case "scatter":
		s.decodeScatter(r)
	}
	return r.err
}

func (s *Stream) decodeClass(r *reader) {
	k := &class{}
	name := ""
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case fieldName:
			name = r.text()
		case fieldMass:
			k.mass = r.float()
		case fieldCount:
			k.count = r.float()
		case fieldMean:
			k.mean = r.vector(s.dimension)
		case fieldExample:
			var e example
			r.group(func(r *reader) {
				for field := r.next(); field != 0; field = r.next() {
					switch field {
					case fieldID:
						e.id = r.text()
					case fieldEpisode:
						e.episode = r.integer()
					case fieldVector:
						e.vector = r.vector(s.dimension)
					}
				}
				if len(e.vector) != s.dimension {
					r.fail("example without its vector")
				}
			})
			k.examples = append(k.examples, e)
		}
	}
	if !(k.mass >= 0) || !(k.count >= 0) {
		r.fail("mass or count below zero")
	}
	s.classes[name] = k
}

func (s *Stream) decodeCluster(r *reader) {
	c := &cluster{}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case fieldID:
			c.id = r.integer()
		case fieldLabel:
			c.name = r.text()
		case fieldMean:
			c.mean = r.vector(s.dimension)
		case fieldMass:
			c.mass = r.float()
		case fieldItems:
			c.items = r.integer()
		case fieldEpisode:
			c.seen = r.integer()
		}
	}
	if len(c.mean) != s.dimension || !(c.mass > 0) {
		r.fail("cluster without its prototype")
	}
	s.clusters.list = append(s.clusters.list, c)
}

func (s *Stream) decodeMetric(r *reader) (*metric.Metric, int64) {
	m := &metric.Metric{}
	var due int64
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case fieldDue:
			due = r.integer()
		case fieldCentre:
			m.Centre = r.vector(s.dimension)
		case fieldScales:
			m.Scales = r.vector(-1)
		case fieldUnits:
			m.Vectors = r.short(unitScale)
		}
	}
	if m.Centre == nil || m.Vectors == nil { // none was made, or it is of a form no longer read: the next one takes its place
		return nil, due
	}
	if len(m.Vectors) != len(m.Scales)*s.dimension {
		r.fail("metric")
	}
	return m, due
}

func (s *Stream) decodeScatter(r *reader) {
	m := &residue{}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case fieldCount:
			m.count = r.float()
		case fieldSum:
			m.sum = r.doubles(s.dimension)
		case fieldFreedom:
			m.freedom = r.float()
		case fieldTrace:
			m.trace = r.float()
		case fieldScales:
			m.scales = r.vector(s.dimension)
		case fieldCodes:
			m.codes = bytes.Clone(r.value)
		case fieldPending:
			m.pending = r.short(pendingScale)
		case fieldPendingFreedom:
			m.pendingFreedom = r.float()
		}
	}
	if m.scales == nil {
		m.freedom, m.trace = 0, 0
	}
	if len(m.sum) != s.dimension || !(m.count >= 0) || !(m.freedom >= 0) || !(m.trace >= 0) || !(m.pendingFreedom >= 0) ||
		len(m.codes) != len(m.scales)*(len(m.scales)-1)/2 || s.dimension == 0 || len(m.pending)%s.dimension != 0 {
		r.fail("scatter")
		return
	}
	s.metric.seen = m
}
