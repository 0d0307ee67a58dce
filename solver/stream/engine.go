package stream

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// problem is one episode of one stream, prepared for the solver. Its slices are reused.
type problem struct {
	solver.Problem
	outside  outside
	names    []string // class number -> label, in order
	numbers  map[string]int32
	each     [][]float32 // the rows' vectors
	labels   []int32
	earlier  []float32 // vectors of earlier items
	together []Item    // an episode's items, and earlier ones
	sum      uint64    // of the labels topic's examples in force

	feed        *feed
	sets        [3]*taught.Prepared // the labels topic's, for this stream and for every stream; the feed's
	fixed       bool                // sets do not depend on the items
	without     []int32             // rows of sets[1] that the stream's own labels correct
	exampleSets []solver.ExampleSet
	classNames  []int32 // of all sets: each one's classes as numbers of the episode
	weights     solver.Weights
	embedding   solver.Embedding
	examples    int       // in force outside the episode
	labelCounts []float64 // labelled items of each class, in the episode or not

	learned  solver.Prior
	admitted []float32    // S of the items that are learned from
	mean     []float32    // of a prototype that learns
	masses   [2][]float64 // of proportions.observe
	shapes   [6][]float32 // of embedder.judge

	taught     *taught.ForStream // the labels topic
	against    []float32         // evidence of rejections against classes, n x K; nil: none
	rejections taught.Scratch

	unknown unknownWork
	density scoreDensity
	sources solver.Sources
	around  surroundings
	lag     []float32
	edges   []solver.Edge
}

// gather collects the examples in force for the stream: the labels topic's for this stream, those for every
// stream, then those of the stream's own feed. Of one id the topic's label overrides the feed's, and the
// stream's overrides everyone's. skipped counts the topic's examples of another model or dimension.
func (p *problem) gather(s *Stream, items []Item, labels *taught.ForStream) (skipped int, err error) {
	p.taught, p.feed = labels, s.feed
	p.feed.follow(s, labels)
	p.each = p.each[:0]
	for i := range items {
		p.each = append(p.each, items[i].Vector)
	}
	f := taught.Fit{Model: s.model, Dimension: s.dimension, Power: s.settings.Solver.Power}
	p.fixed, p.sum = true, labels.Own.Sum+labels.Everyone.Sum
	for i, from := range []struct {
		set   *taught.Set
		whole int
	}{{labels.Own, taught.WholeMost}, {labels.Everyone, taught.WholeMost}, {p.feed.examples, taught.NearMost}} {
		fixed := false
		if p.sets[i], fixed, err = from.set.Prepared(f, p.each, from.whole); err != nil {
			return 0, err
		}
		p.fixed = p.fixed && fixed
		if fixed && i == 0 {
			p.sum += p.sets[i].Sum - labels.Own.Sum // examples of other models may change
		}
	}
	p.without = p.without[:0]
	for e := range labels.Own.All() {
		if row, there := p.sets[1].Row(labels.Everyone.Find(e.ID)); there {
			p.without = append(p.without, row)
		}
	}
	slices.Sort(p.without)
	return p.sets[0].Unfit + p.sets[1].Unfit, nil
}

// labelled reports whether a class has any labelled item in force, in this episode or not.
func (p *problem) labelled(name string) bool {
	_, here := p.numbers[name]
	return here || p.feed.classes[name] || p.taught.Everyone.Has(name) || p.taught.Own.Has(name)
}

// number numbers the classes of the episode in the order of their labels, independent of the past.
func (p *problem) number(items []Item) {
	p.count()
	p.names, p.numbers = p.outside.names, p.outside.numbers
	here := map[string]float64{} // labelled items
	for i := range items {
		if label := items[i].Label; label != "" {
			here[label]++
		}
	}
	for label := range here {
		if _, known := p.outside.numbers[label]; !known {
			p.names = append(slices.Clip(p.names), label)
		}
	}
	if len(p.names) > len(p.outside.names) {
		slices.Sort(p.names)
		p.numbers = numbersOf(p.names)
	}
	p.labelCounts = p.labelCounts[:0]
	for _, name := range p.names {
		p.labelCounts = append(p.labelCounts, p.outside.counts[name]+here[name])
	}
}

// fill sets up the solver's problem. The last rows are earlier ones.
func (p *problem) fill(s *Stream, rows []Item, earlier int) {
	p.each, p.labels = p.each[:0], p.labels[:0]
	for i := range rows {
		p.each = append(p.each, rows[i].Vector)
		c := int32(-1)
		if rows[i].Label != "" {
			c = p.numbers[rows[i].Label]
		}
		p.labels = append(p.labels, c)
	}
	p.exampleSets, p.classNames, p.examples = p.exampleSets[:0], p.classNames[:0], -len(p.without)
	for i, set := range p.sets {
		from := len(p.classNames)
		for _, name := range set.Names {
			number, known := p.numbers[name]
			if !known { // all its examples are corrected
				number = -1
			}
			p.classNames = append(p.classNames, number)
		}
		if set.Len() == 0 {
			continue
		}
		p.examples += set.Len()
		b := solver.ExampleSet{Examples: set.Examples, Names: p.classNames[from:len(p.classNames):len(p.classNames)]}
		if i == 1 {
			b.Without = p.without
		}
		p.exampleSets = append(p.exampleSets, b)
	}
	cache := s.cache
	if !p.fixed { // the next episode gets other examples: the engine prepares them every time
		cache = nil
	}
	p.Problem = solver.Problem{
		Rows: solver.List(p.each), Earlier: earlier, K: len(p.names), Labels: p.labels,
		Examples: solver.Prepared(cache, p.exampleSets...), Judge: s.settings.Judged,
	}
}

// nobody returns the number of the class Nobody, -1 if there is none.
func (p *problem) nobody() int32 {
	if c, ok := p.numbers[Nobody]; ok {
		return c
	}
	return -1
}

// rejectionsOf returns the rejections that concern the stream and the episode's classes.
func (p *problem) rejectionsOf(s *Stream) taught.EpisodeRejections {
	return p.taught.RejectionsOf(s.model, s.dimension, p.names, p.byClass)
}

// contradict returns the evidence of rejections for an episode's items, n x K: below zero for a class that an
// item is not of, 0 for all others. nil: none.
func (p *problem) contradict(s *Stream, items []Item) []float32 {
	against := p.rejectionsOf(s)
	if against.None() {
		return nil
	}
	rows := make([]taught.Row, len(items))
	for i := range items {
		rows[i] = taught.Row{Vector: items[i].Vector, Track: items[i].Track, Given: items[i].Label != ""}
	}
	out := make([]float32, len(items)*len(p.names))
	if !against.Speak(out, rows, &p.rejections) {
		return nil
	}
	return out
}

// byClass returns the labelled examples that the episode gets, by their class.
func (p *problem) byClass() [][]*taught.Entry {
	out := make([][]*taught.Entry, len(p.names))
	list, classes := p.listed()
	for i, c := range classes {
		out[c] = append(out[c], list[i])
	}
	return out
}

// listed returns the examples that the episode gets, with their classes.
func (p *problem) listed() (list []*taught.Entry, classes []int32) {
	for i, set := range p.sets {
		for row, e := range set.Entries {
			if i != 1 || !p.corrected(int32(row)) {
				list, classes = append(list, e), append(classes, p.numbers[e.Label])
			}
		}
	}
	return list, classes
}

// corrected reports whether the stream's own labels correct an example for all.
func (p *problem) corrected(row int32) bool {
	_, found := slices.BinarySearch(p.without, row)
	return found
}

// outside are the classes of the examples in force outside an episode. The next episode beside the same
// examples takes them over.
type outside struct {
	sets    [3]*taught.Prepared
	without []int32
	names   []string           // ascending
	counts  map[string]float64 // examples of each
	numbers map[string]int32   // of names
}

// count lists the classes of the examples in force outside the episode.
func (p *problem) count() {
	o := &p.outside
	if o.numbers != nil && o.sets == p.sets && slices.Equal(o.without, p.without) {
		return
	}
	o.sets, o.without, o.counts = p.sets, append(o.without[:0], p.without...), map[string]float64{}
	for _, set := range p.sets {
		for c, name := range set.Names {
			o.counts[name] += set.Counts[c]
		}
	}
	for _, row := range p.without {
		name := p.sets[1].Entries[row].Label
		if o.counts[name]--; o.counts[name] == 0 {
			delete(o.counts, name)
		}
	}
	o.names = slices.Sorted(maps.Keys(o.counts))
	o.numbers = numbersOf(o.names)
}

// numbersOf returns the index of each name.
func numbersOf(names []string) map[string]int32 {
	numbers := make(map[string]int32, len(names))
	for c, name := range names {
		numbers[name] = int32(c)
	}
	return numbers
}

// Engine is the workspace in which streams are answered. Any number of streams can share one, but only one
// goroutine may use it at a time. Of the streams it keeps only the last answer. The zero value is ready to
// use.
type Engine struct {
	solver   *solver.Solver
	settings solver.Settings // that solver was made for
	problem  problem
	fork     Stream // that is answered now, and its episode
	episode  episode
	solved   *solver.Result
	space    *solver.Space // that it was solved in

	items       []Item
	near, doubt []float32 // of review.ask
	comparison  comparison
}

// Items returns memory for so many items of the next answer, which holds them until then.
func (e *Engine) Items(n int) []Item {
	e.items = vector.Resize(e.items, n)
	return e.items
}

// set prepares the engine for a stream, or reports the faults of its settings.
func (e *Engine) set(s *Stream) (err error) {
	if !s.valid {
		if err := s.settings.Validate(); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		s.valid = true
	}
	own := s.settings.Solver
	if own.Workers == 0 { // streams are answered in parallel; more goroutines in each would only slow them
		own.Workers = 1
	}
	if e.solver != nil && e.settings == own {
		return nil
	}
	e.settings = own
	e.solver, err = solver.New(own)
	return err
}

// Solved returns the solve of the engine's last answer, with its objective step by step, and its graph. They are
// valid until the next answer; nil before the first, and where clusters, or several solves, answered.
func (e *Engine) Solved() (*solver.Result, *index.Affinity) {
	if e.solved == nil {
		return nil, nil
	}
	return e.solved, e.space.Affinity()
}

// solve solves the episode. If labels come with it, it is first solved without them, which shows how far the
// stream's answers can be trusted.
func (e *episode) solve(ctx context.Context) (*solver.Result, error) {
	s, p := e.stream, e.problem
	p.against = p.contradict(s, e.rows)
	p.weights = s.weights.forSolve()
	p.Weights = &p.weights
	if err := e.holdOut(ctx); err != nil {
		return nil, err
	}
	p.weights = s.weights.forSolve()
	t := s.trial(e)
	if t != nil && len(t.fresh) > 0 {
		if err := t.solveApart(ctx, e); err != nil {
			return nil, err
		}
	}
	space, err := e.engine.solver.Embed(&p.Problem)
	if err != nil {
		return nil, err
	}
	e.space = space
	s.timeline.relate(e)
	if t != nil && len(t.fresh) == 0 {
		if err = t.solveIn(ctx, e); err != nil {
			return nil, err
		}
	}
	if s.settings.Time && len(e.tested) > 0 {
		p.Proportions = s.proportions.expected(p, e.tested)
	}
	if t != nil {
		if err = space.Label(p.labels); err != nil {
			return nil, err
		}
	}
	p.Evidence = s.timeline.evidence(e)
	p.weights = s.weights.forSolve() // the trial may have changed them
	return assessed(space.Solve(ctx))
}

func assessed(r *solver.Result, err error) (*solver.Result, error) {
	if err != nil {
		return nil, err
	}
	return r.Assess(), nil
}
