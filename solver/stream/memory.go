package stream

import (
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// Budget is memory that streams share. Metrics are learned as far as it goes.
type Budget interface {
	// Reserve asks for so many bytes for a while. It returns what gives them back; false: there are not as many.
	Reserve(bytes int) (release func(), ok bool)
}

// room reserves what learning the metric takes of an episode's dimension.
func (s Settings) room(d int) (release func(), ok bool) {
	if s.Budget == nil {
		return func() {}, true
	}
	return s.Budget.Reserve(metric.WorkspaceBytes(d))
}

// Bytes is about what the stream holds, without its metric, and what the metric takes beside.
func (s *Stream) Bytes() (rest, ofMetric int) {
	const each = 200 // beside the vectors, of whatever there are many of
	vectors := len(s.prototypes.of) + len(s.clusters.list)
	if len(s.classes.owner) > 0 {
		vectors += 2 * len(s.classes.owner) // as they came, and made ready
	}
	many := vectors + len(s.classes.kept) + len(s.calibration.answers) + len(s.timeline.tracks)
	rest = 4<<10 + vectors*4*s.dimension + many*each
	if m := s.metric.current; m != nil {
		ofMetric += 4 * (len(m.Centre) + len(m.Scales) + len(m.Vectors))
	}
	if c := s.metric.seen; c != nil {
		ofMetric += 8*len(c.Sum) + 4*len(c.Scales) + 2*len(c.Pending) + len(c.Codes)
	}
	return rest, ofMetric
}

// DropMetric gives up the metric and what the next one would be made of. It is learned again while there is
// room for it.
func (s *Stream) DropMetric() {
	s.Learn()
	s.metric = learnedMetric{}
	s.prepared = &solver.Prepared{}
	s.note("the metric was given up: memory is used up")
}
