package stream

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// problem is one episode of one stream, made ready for the solver. Its slices are kept from episode to episode.
type problem struct {
	solver.Problem
	names   []string // class number -> label, in order
	numbers map[string]int32
	force   []inForce   // labelled items outside the episode, anchor by anchor
	each    [][]float32 // the items' vectors, then the anchors'
	labels  []int32
	classes []int32
	sum     uint64 // of the labels topic's part of what is in force

	taught      map[string]bool // classes with an example of the stream's own feed
	withdrawn   []string        // ids of the feed's examples that the labels topic corrects or takes back
	labelCounts []float64       // labelled items of each class, in the episode or not

	learned        solver.Prior
	admitted, sums []float32 // S of the items that are learned from, and what they add up to

	everyone, own *exampleSet // the labels topic

	around surroundings
	lag    []float32
	edges  []solver.Edge
}

// inForce is a labelled item outside the episode.
type inForce struct {
	id, label string
	vector    []float32
	own       bool // from this stream's own part of the labels topic
	sum       uint64
}

// Of more examples than this, of one kind, an episode sees those of the classes nearest to its items.
const (
	labelledMost = 4096 // of the labels topic, for everyone or for this stream
	taughtMost   = 1024 // of the stream's own feed
)

// gather lists what is labelled for the stream: the labels topic, first for this stream, then for everyone, then what the
// stream's own feed taught it. Of one id the topic's word stands before the feed's, and the stream's before everyone's.
// Where there are more examples than an episode can hold, those of the classes nearest to its items are taken.
func (p *problem) gather(s *Stream, items []Item, labels *followedLabels) (skipped int, err error) {
	d := s.dimension
	everyone, own := labels.everyone, labels.own
	p.everyone, p.own = everyone, own
	p.force, p.withdrawn = p.force[:0], p.withdrawn[:0]
	p.sum = 0
	p.taught = map[string]bool{}
	usable := func(e *Example) bool {
		ok := len(e.Vector) == d && (e.Model == "" || e.Model == s.model) && e.Label != ""
		if !ok {
			skipped++
		}
		return ok
	}
	near, err := own.near(items, labelledMost)
	if err != nil {
		return 0, err
	}
	if near != nil {
		p.sum = own.sum
	}
	for i := range own.examples {
		e := &own.examples[i]
		if near != nil && !near[e.Label] || !usable(e) {
			continue
		}
		if near == nil {
			p.sum += own.sums[i]
		}
		p.force = append(p.force, inForce{id: e.ID, label: e.Label, vector: e.Vector, own: true, sum: own.sums[i]})
	}
	if near, err = everyone.near(items, labelledMost); err != nil {
		return 0, err
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
	near = s.classes.near(items, taughtMost)
	for _, name := range s.classes.names() {
		for _, e := range s.classes.kept[name] {
			if _, corrected := labels.label(e.id); corrected || labels.forgotten(e.id) {
				p.withdrawn = append(p.withdrawn, e.id)
				continue
			}
			p.taught[name] = true
			if near == nil || near[name] {
				p.force = append(p.force, inForce{id: e.id, label: name, vector: e.vector})
			}
		}
	}
	return skipped, nil
}

// labelled tells whether a class has any labelled item in force, in this episode or not.
func (p *problem) labelled(name string) bool {
	_, here := p.numbers[name]
	return here || p.taught[name] || len(p.everyone.classes[name]) > 0 || len(p.own.classes[name]) > 0
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
	p.around.n = 0
	p.each, p.labels, p.classes = p.each[:0], p.labels[:0], p.classes[:0]
	for i := range items {
		p.each = append(p.each, items[i].Vector)
		c := int32(-1)
		if items[i].Label != "" {
			c = p.numbers[items[i].Label]
		}
		p.labels = append(p.labels, c)
	}
	for i := range p.force {
		p.each = append(p.each, p.force[i].vector)
		p.classes = append(p.classes, p.numbers[p.force[i].label])
	}
	p.Problem = solver.Problem{
		Each: p.each, N: len(items), D: d, K: len(p.names), Labels: p.labels, AnchorLabels: p.classes, Assess: true,
	}
	if !s.settings.Warm {
		return
	}
	if m := s.metric.current; m != nil {
		p.Embedding = &solver.Embedding{Metric: m}
	}
	p.Proportions = s.proportions.expected(p.names)
	p.labelCounts = append(p.labelCounts[:0], make([]float64, p.K)...)
	for _, classes := range [][]int32{p.classes, p.labels} {
		for _, c := range classes {
			if c >= 0 {
				p.labelCounts[c]++
			}
		}
	}
	p.Prior = s.prior(p)
}

// nobody is the number of the class Nobody, -1 where there is none.
func (p *problem) nobody() int32 {
	if c, ok := p.numbers[Nobody]; ok {
		return c
	}
	return -1
}
