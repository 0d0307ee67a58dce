package stream

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// problem is one episode of one stream, made ready for the solver. Its slices are kept from episode to episode.
type problem struct {
	solver.Problem
	names   []string // class number -> label, in order
	numbers map[string]int32
	force   []inForce // labelled items outside the episode, anchor by anchor
	rows    []float32
	labels  []int32
	anchors []float32
	classes []int32
	sum     uint64 // of the labels topic's part of what is in force

	everyone, own *exampleSet // the labels topic
}

// inForce is a labelled item outside the episode.
type inForce struct {
	id, label string
	vector    []float32
	review    bool // from this stream's own part of the labels topic
	sum       uint64
}

// gather lists what is labelled for the stream: the labels topic, first for this stream, then for everyone, then what the
// stream's own feed taught it. Of one id the topic's word stands before the feed's, and the stream's before everyone's.
// Where there are more examples for everyone than an episode can hold, those of the classes nearest to its items are taken.
func (p *problem) gather(s *Stream, items []Item, labels *Labels) (skipped int, err error) {
	d := s.dimension
	everyone, own := labels.of(s.Name)
	p.everyone, p.own = everyone, own
	p.force = p.force[:0]
	p.sum = 0
	usable := func(e *Example) bool {
		ok := len(e.Vector) == d && (e.Model == "" || e.Model == s.model) && e.Label != ""
		if !ok {
			skipped++
		}
		return ok
	}
	for i := range own.examples {
		if e := &own.examples[i]; usable(e) {
			sum := e.sum()
			p.sum += sum
			p.force = append(p.force, inForce{id: e.ID, label: e.Label, vector: e.Vector, review: true, sum: sum})
		}
	}
	var near map[string]bool
	if len(everyone.examples) > s.settings.Neighbour {
		if near, err = everyone.near(items, d); err != nil {
			return 0, err
		}
	}
	for i := range everyone.examples {
		e := &everyone.examples[i]
		if near != nil && !near[e.Label] {
			continue
		}
		if _, corrected := own.label(e.ID); !corrected && usable(e) {
			p.force = append(p.force, inForce{id: e.ID, label: e.Label, vector: e.Vector})
		}
	}
	p.sum += everyone.sum
	for _, name := range s.names() {
		for _, e := range s.classes[name].examples {
			p.force = append(p.force, inForce{id: e.id, label: name, vector: e.vector})
		}
	}
	return skipped, nil
}

// labelled tells whether a class has any labelled item in force, in this episode or not.
func (p *problem) labelled(s *Stream, name string) bool {
	if _, here := p.numbers[name]; here {
		return true
	}
	k := s.classes[name]
	return len(p.everyone.classes[name]) > 0 || len(p.own.classes[name]) > 0 || k != nil && len(k.examples) > 0
}

// number gives every label of the episode its class, in the order of the labels themselves: it does not depend on the past.
func (p *problem) number(items []Item) {
	p.names = p.names[:0]
	if p.numbers == nil {
		p.numbers = map[string]int32{}
	}
	clear(p.numbers)
	add := func(label string) {
		if _, ok := p.numbers[label]; !ok && label != "" {
			p.numbers[label] = 0
			p.names = append(p.names, label)
		}
	}
	for i := range p.force {
		add(p.force[i].label)
	}
	for i := range items {
		add(items[i].Label)
	}
	slices.SortFunc(p.names, func(a, b string) int { return cmp.Compare(a, b) })
	for c, name := range p.names {
		p.numbers[name] = int32(c)
	}
}

// fill lays out the solver's problem.
func (p *problem) fill(s *Stream, items []Item) {
	d := s.dimension
	p.rows, p.labels, p.anchors, p.classes = p.rows[:0], p.labels[:0], p.anchors[:0], p.classes[:0]
	for i := range items {
		p.rows = append(p.rows, items[i].Vector...)
		c := int32(-1)
		if items[i].Label != "" {
			c = p.numbers[items[i].Label]
		}
		p.labels = append(p.labels, c)
	}
	for i := range p.force {
		p.anchors = append(p.anchors, p.force[i].vector...)
		p.classes = append(p.classes, p.numbers[p.force[i].label])
	}
	p.Problem = solver.Problem{Rows: p.rows, N: len(items), D: d, K: len(p.names), Labels: p.labels, Anchors: p.anchors, AnchorLabels: p.classes, Assess: true}
	if !s.settings.Warm {
		return
	}
	s.install()
	if m := s.metric.current; m != nil {
		p.Embedding = &solver.Embedding{Metric: m}
	}
	p.Proportions = s.proportions(p.names)
	if !s.taught {
		p.prior(s)
	}
}

// prior is the warm start: each learned prototype, weighing no more than the labelled items of its class, and no more than what
// was lately seen of it: a prototype drawn from many items is nearer to everything than one labelled item is, so that one
// whose class has gone takes in items of classes that nobody has seen yet.
func (p *problem) prior(s *Stream) {
	ws := s.settings.Solver.WS
	if ws == 0 {
		ws = max(1, .5*math.Log2(float64(p.K)))
	}
	labelled := make([]float64, p.K)
	for _, c := range p.classes {
		labelled[c]++
	}
	for _, c := range p.labels {
		if c >= 0 {
			labelled[c]++
		}
	}
	for c, name := range p.names {
		k := s.classes[name]
		if k == nil || k.mean == nil {
			continue
		}
		if p.Prior == nil {
			p.Prior = &solver.Prior{Means: make([]float32, p.K*p.D), Weights: make([]float32, p.K)}
		}
		copy(p.Prior.Means[c*p.D:], k.mean)
		p.Prior.Weights[c] = float32(min(k.mass, ws*labelled[c], k.count))
	}
}

// priorShare is the prior's part of the prototypes' fixed mass.
func (p *problem) priorShare(ws float64) float64 {
	if p.Prior == nil {
		return 0
	}
	var prior float64
	for _, w := range p.Prior.Weights {
		prior += float64(w)
	}
	if ws == 0 {
		ws = max(1, .5*math.Log2(float64(p.K)))
	}
	labelled := ws * float64(len(p.classes))
	return prior / max(prior+labelled, math.SmallestNonzeroFloat64)
}

// checkItems names the first item that no episode may hold.
func checkItems(items []Item) (d int, err error) {
	if len(items) == 0 {
		return 0, fmt.Errorf("%w: an episode has at least one", ErrItem)
	}
	d = len(items[0].Vector)
	for i, item := range items {
		if len(item.Vector) != d || d == 0 {
			return 0, fmt.Errorf("%w: row %d: dimension %d, not %d", ErrItem, i, len(item.Vector), d)
		}
		if item.Model != items[0].Model {
			return 0, fmt.Errorf("%w: row %d: model %q, not the episode's %q", ErrItem, i, item.Model, items[0].Model)
		}
		if length := kernel.Dot(item.Vector, item.Vector); length > 0 && length-length == 0 {
			continue
		}
		zero := true
		for j, v := range item.Vector {
			if v-v != 0 {
				return 0, fmt.Errorf("%w: row %d: value %g at %d is not finite", ErrItem, i, v, j)
			}
			zero = zero && v == 0
		}
		if zero {
			return 0, fmt.Errorf("%w: row %d: all its values are zero", ErrItem, i)
		}
	}
	return d, nil
}
