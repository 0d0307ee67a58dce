package stream

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/solver/metric"
)

// Piece is a part of an encoded stream: whoever writes state may write only the pieces whose Sum is new, and may cut or
// join their bytes as it likes. A stream is restored from all of its pieces, in any order.
type Piece struct {
	Name  string // head, metric, scatter, class/NAME, cluster/ID
	Bytes []byte
}

// Field numbers of the pieces. A number is never given another meaning.
const (
	fieldKind = iota + 1
	fieldName
	fieldModel
	fieldDimension
	fieldFingerprint
	fieldEpisode
	fieldOffset
	fieldObject
	fieldSeen
	fieldTaught
	fieldCredit
	fieldVerdict
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
	fieldDistance
	fieldItems
	fieldCentre
	_ // vectors of a metric at full precision, no longer written: such a metric is left behind
	fieldScales
	fieldDue
	fieldSum
	fieldFreedom
	fieldTrace
	_ // a scatter at full precision, no longer written
	fieldNote
	_ // a settled unknown limit, no longer written
	fieldCodes
	fieldUnits
	fieldSpread
	fieldPending
	fieldPendingFreedom
	fieldAgain
	fieldRecurrenceMass
)

// State encodes the stream: the head first, then its parts, class by class. The same stream gives the same bytes. A metric
// under way is finished first.
func (s *Stream) State() []Piece {
	var parts []Piece
	for _, name := range s.names() {
		parts = append(parts, Piece{"class/" + name, s.classes[name].encode(name)})
	}
	for _, c := range s.clusters.list {
		parts = append(parts, Piece{fmt.Sprintf("cluster/%d", c.id), c.encode()})
	}
	parts = append(parts, s.metric.encode()...)
	return append([]Piece{{"head", s.encodeHead(len(parts))}}, parts...)
}

func (s *Stream) encodeHead(parts int) []byte {
	w := newWriter()
	w.text(fieldKind, "head")
	w.text(fieldName, s.Name)
	w.text(fieldModel, s.model)
	w.integer(fieldDimension, int64(s.dimension))
	w.integer(fieldFingerprint, int64(s.settings.fingerprint()))
	w.integer(fieldEpisode, s.episode)
	w.integer(fieldOffset, s.learned.Offset)
	w.integer(fieldObject, int64(s.learned.Object))
	w.integer(fieldSeen, int64(s.seen))
	if s.taught {
		w.integer(fieldTaught, 1)
	}
	w.float(fieldCredit, s.credit)
	w.float(fieldAgain, s.recurrence.again)
	w.float(fieldRecurrenceMass, s.recurrence.mass)
	w.doubles(fieldSpread, s.spread[:])
	w.integer(fieldNextCluster, s.clusters.next)
	if s.clusters.sum != nil {
		w.doubles(fieldSum, s.clusters.sum)
		w.float(fieldCount, s.clusters.count)
	}
	w.integer(fieldPieces, int64(parts))
	for _, v := range s.verdicts {
		w.group(fieldVerdict, func(w *writer) {
			w.text(fieldID, v.id)
			w.text(fieldLabel, v.label)
			w.text(fieldAnswered, v.answered)
			w.vector(fieldZ, []float32{v.z})
			w.vector(fieldDistance, []float32{v.distance})
			if v.topic {
				w.integer(fieldTopic, 1)
			}
		})
	}
	for _, sum := range slices.Sorted(maps.Keys(s.topic)) {
		w.integer(fieldTopic, int64(sum))
	}
	for _, note := range s.notes {
		w.text(fieldNote, note)
	}
	return w.sealed()
}

func (k *class) encode(name string) []byte {
	w := newWriter()
	w.text(fieldKind, "class")
	w.text(fieldName, name)
	w.float(fieldMass, k.mass)
	w.float(fieldCount, k.count)
	if k.mean != nil {
		w.vector(fieldMean, k.mean)
	}
	for _, e := range k.examples {
		w.group(fieldExample, func(w *writer) {
			w.text(fieldID, e.id)
			w.integer(fieldEpisode, e.episode)
			w.vector(fieldVector, e.vector)
		})
	}
	return w.sealed()
}

func (c *cluster) encode() []byte {
	w := newWriter()
	w.text(fieldKind, "cluster")
	w.integer(fieldID, c.id)
	w.text(fieldLabel, c.name)
	w.vector(fieldMean, c.mean)
	w.float(fieldMass, c.mass)
	w.integer(fieldItems, c.items)
	w.integer(fieldEpisode, c.seen)
	return w.sealed()
}

func (m *metricState) encode() []Piece {
	var parts []Piece
	metric := func(kind string, m *metric.Metric, due int64) {
		w := newWriter()
		w.text(fieldKind, kind)
		w.integer(fieldDue, due)
		if m != nil {
			w.vector(fieldCentre, m.Centre)
			w.vector(fieldScales, m.Scales)
			w.short(fieldUnits, m.Vectors, unitScale)
		}
		parts = append(parts, Piece{kind, w.sealed()})
	}
	if m.current != nil {
		metric("metric", m.current, 0)
	}
	if m.next != nil {
		m.next.Compute()
		metric("next", m.next.metric, m.next.Due)
	}
	if r := m.seen; r != nil {
		w := newWriter()
		w.text(fieldKind, "scatter")
		w.float(fieldCount, r.count)
		w.doubles(fieldSum, r.sum)
		w.float(fieldFreedom, r.freedom)
		w.float(fieldTrace, r.trace)
		if r.scales != nil {
			w.vector(fieldScales, r.scales)
			w.bytes(fieldCodes, r.codes)
		}
		if len(r.pending) > 0 {
			w.short(fieldPending, r.pending, pendingScale)
			w.float(fieldPendingFreedom, r.pendingFreedom)
		}
		parts = append(parts, Piece{"scatter", w.sealed()})
	}
	return parts
}
