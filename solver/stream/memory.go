package stream

import (
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// Budget is memory that streams share. A metric is learned only while the budget has room for it.
type Budget interface {
	// Reserve reserves bytes until release is called; false: fewer are left, and none is reserved.
	Reserve(bytes int) (release func(), ok bool)
}

// room reserves the memory for learning a metric of dimension d.
func (s Settings) room(d int) (release func(), ok bool) {
	if s.Budget == nil {
		return func() {}, true
	}
	return s.Budget.Reserve(metric.WorkspaceBytes(s.Solver.MetricRank, d))
}

// Bytes estimates the memory of the stream without its metric, and of the metric.
func (s *Stream) Bytes() (rest, ofMetric int) {
	const each = 200 // overhead of each vector, class, held-out answer and track
	vectors := len(s.clusters.list)
	if len(s.classes.owner) > 0 {
		vectors += 2 * len(s.classes.owner) // as received, and prepared
	}
	shorts, short, shape := len(s.prototypes.of)+len(s.clusters.before), &s.earlier, &s.shape
	many := vectors + shorts + len(s.classes.kept) + len(s.calibration.answers) + len(s.timeline.tracks)
	rest = 4<<10 + (4*vectors+2*shorts)*s.dimension + many*each + s.cache.Bytes()
	rest += len(short.rows) + 4*len(short.scales) + 32*len(short.tracked)
	rest += 4 * (len(shape.mean) + len(shape.spread) + len(shape.sum) + len(shape.squares))
	if m := s.metric.current; m != nil {
		ofMetric += 4*(len(m.Centre)+len(m.Scales)) + 2*len(m.Units)
	}
	if c := s.metric.seen; c != nil {
		ofMetric += 8*len(c.Sum) + 4*len(c.Scales) + len(c.Rows) + len(c.Directions) + 2*len(c.Products)
	}
	return rest, ofMetric
}

// DropMetric drops the metric and the statistics for the next one. It is learned again once there is
// room for it.
func (s *Stream) DropMetric() {
	s.Learn()
	s.metric = learnedMetric{}
	s.cache = &solver.ExampleCache{}
	s.note("the metric was given up: memory is used up")
}
