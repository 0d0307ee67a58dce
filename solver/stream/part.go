package stream

import (
	"iter"
	"sync"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// part is one thing that a stream learns, with its state, its rules and its bytes in one file. A new one
// takes a new file and an entry in state.parts. It has those methods of the interfaces below that it needs.
type part interface {
	// fields writes what was learned to a piece, or reads it back: to the head, to the pieces of classes, or to
	// pieces of its own.
	fields(f *piece.Fields)
}

type (
	// contributor adds to the problem of an episode of a warm stream, before its rows are embedded.
	contributor interface{ contribute(e *episode) }
	// answerer changes the answers of a solved episode.
	answerer interface{ answer(e *episode) }
	// observer learns from an answered episode. It cannot fail, and changes only what the stream keeps. Of an answer it
	// learns the Class: the Label is what people call it now, which they may take back.
	observer interface{ observe(e *episode) }
	// learner learns what takes too long to be done before the answers are handed over.
	learner interface{ learn(s *Stream, of *lesson) }
	// sharer changes memory in place that a copy of the part shares, until it has copied it. Nearly every episode
	// learns only once nothing can fail any more, so that what would be copied each time is copied when it matters.
	sharer interface{ detach() }
	// holder estimates the memory of what it keeps of embeddings of dimension d.
	holder interface{ bytes(d int) int }
	// resetter forgets a class, and reports whether there was anything to forget.
	resetter interface{ reset(class string) bool }
	// knower lists the classes of which it has fields in their pieces.
	knower interface{ known() iter.Seq[string] }
	// storer lists the kinds of the pieces of its own.
	storer interface{ kinds() []string }
)

// each calls do for the parts of a kind.
func each[T any](s *state, do func(T)) {
	for _, p := range s.parts() {
		if of, ok := p.(T); ok {
			do(of)
		}
	}
}

// overhead is that of each vector, class, held-out answer and track in memory.
const overhead = 200

// episodeKept is the factor by which what an episode shows of a stream's order, of what recurs and of its
// unknown scores counts less with each later one: about the last ten show where the stream is now.
const episodeKept = .9

// enough is the least number of items from which something is derived: a quantile, a calibrated confidence, a
// verdict on the whole stream. In an average it is how many items count as much as what was known before.
const enough = 20

// episode is one episode on its way from items to answers and to what is learned from it.
type episode struct {
	stream  *Stream
	engine  *Engine
	number  int64 // from 1
	items   []Item
	rows    []Item // those that are solved: the items, then those before them that are solved with them
	problem *problem
	result  *solver.Result // nil: clusters answer
	solved  *solver.Result // the same; nil too if the stream is cold: its answers teach nothing
	space   *solver.Space  // that they were solved in
	answers []Answer
	report  Report

	tested        []verdict     // the stream's answers to labelled items without their labels, where these could be right
	scores        *scoreDensity // the unknown scores, including this episode's
	relabels      bool          // the labels topic has changed since the last episode
	cold          bool          // only clusters are learned
	otherEmbedder bool          // the rows are of another embedder
}

// taughtLater reports whether the episode brings labels to a stream that has answered before.
func (e *episode) taughtLater() bool {
	return e.number > 1 && (e.relabels || !e.cold && teaches(e.items))
}

// lesson is what learners learn from an episode: copies, as the engine goes on to other streams.
type lesson struct {
	number  int64
	rows    metric.Rows // of all items; without Z if the metric does not learn from them
	few     bool        // too few items are labelled for a metric: the residuals of all items stand in
	z       []float32   // labelled items, in the episode and beside it, if the metric is made anew
	classes []int32     // theirs
	nobody  int32

	u, chosen []float32 // memory of novelty: z with the metric, and those that are left out
}

var lessons = sync.Pool{New: func() any { return new(lesson) }}

// lesson copies what is left to learn; nil: nothing.
func (e *episode) lesson() *lesson {
	p, r, d := e.problem, e.solved, e.stream.dimension
	folds := e.stream.turn.Folds(e.stream.metric.seen, e.number) && e.stream.settings.Solver.MetricRank > 0
	refreshes := e.stream.turn.Refreshes(e.number)
	if r == nil || !folds && !refreshes {
		return nil
	}
	l, x := lessons.Get().(*lesson), e.space
	l.number, l.nobody = e.number, p.nobody()
	l.rows.K, l.rows.Mean = p.K, append(l.rows.Mean[:0], x.Mean()...)
	freedom := p.examples - len(p.names)
	l.rows.Z, l.rows.Inverse, l.rows.S = l.rows.Z[:0], l.rows.Inverse[:0], l.rows.S[:0]
	l.z, l.classes = l.z[:0], l.classes[:0]
	for i, c := range p.labels {
		if c < 0 {
			continue
		}
		freedom++
		if refreshes {
			l.z, l.classes = append(l.z, x.Z()[i*d:i*d+d]...), append(l.classes, c)
		}
	}
	if refreshes {
		for i, c := range x.Examples() {
			if c >= 0 {
				l.z, l.classes = x.Example(l.z, i), append(l.classes, c)
			}
		}
	}
	if l.few = metric.Few(float64(freedom), d); folds {
		n := len(e.items)
		l.rows.Z, l.rows.Inverse = append(l.rows.Z, x.Z()[:n*d]...), append(l.rows.Inverse, x.Inverse()[:n]...)
		l.rows.S = append(l.rows.S, r.S[:n*p.K]...)
	}
	return l
}
