package stream

import (
	"maps"
	"slices"
)

// proportions are how much of each class lately came, and how far that says what comes next.
type proportions struct {
	counts map[string]float64 // items of each class lately seen, half of them in the last episode
	recurrence
}

// recurrence is how far a stream's classes come again: of the mass of about the last ten episodes, the part that the
// episodes before had led to expect. Before a street camera nine items in ten are of classes that were just there; on a table
// where one thing is shown after another, one in five, and to expect the others there as well costs more than it brings.
type recurrence struct {
	again float64 // mass of classes that came again
	all   float64 // mass of all
}

// recurrenceKept is what an episode still counts for one episode later.
const recurrenceKept = .9

// fraction is again out of all after one item of each kind: a stream that has shown nothing yet has a half.
func (r recurrence) fraction() float64 { return (r.again + 1) / (r.all + 2) }

// expected is what an episode is expected to hold of k classes: of w what was lately seen, and of 1 - w anything. lately are the
// fractions of the classes in what was lately seen; nil: nothing is known.
func (r recurrence) expected(k int, lately []float64) []float64 {
	out := make([]float64, k)
	w := r.fraction()
	for c := range out {
		out[c] = 1 / float64(k)
		if lately != nil {
			out[c] = w*lately[c] + (1-w)/float64(k)
		}
	}
	return out
}

// after is the recurrence once an episode has shown so much of each class: one step of expectation maximisation, in which a
// class's mass is shared between the two reasons for which it was expected.
func (r recurrence) after(lately, masses []float64) recurrence {
	w := r.fraction()
	next := recurrence{again: recurrenceKept * r.again, all: recurrenceKept * r.all}
	for c, mass := range masses {
		again := w * lately[c]
		next.again += mass * again / (again + (1-w)/float64(len(masses)))
		next.all += mass
	}
	return next
}

// masses are the sums of the rows of S, which has k columns.
func masses(soft []float32, k int) []float64 {
	out := make([]float64, k)
	for from := 0; from < len(soft); from += k {
		for c, v := range soft[from : from+k] {
			out[c] += float64(v)
		}
	}
	return out
}

// expected are pi0, what an episode is expected to hold.
func (p *proportions) expected(names []string) []float64 {
	return p.recurrence.expected(len(names), p.lately(names))
}

// corrected are expected where labels say that answers of the stream are wrong, or right: what was lately
// counted for the class that a wrong answer named may have been of the class of the label. It goes there,
// in as large a part as such answers are among those tested. Else a thing that was named wrong all along
// would be expected under that name for good.
func (p *proportions) corrected(names []string, numbers map[string]int32, tested []heldOut) []float64 {
	const untested = .1 // items besides, of which no label says anything
	lately := p.lately(names)
	if lately == nil {
		return p.expected(names)
	}
	answers := map[string]float64{}
	for _, t := range tested {
		answers[t.answered]++
	}
	seen := slices.Clone(lately)
	for _, t := range tested {
		from, to := numbers[t.answered], numbers[t.label]
		moved := seen[from] / (answers[t.answered] + untested)
		lately[from] -= moved
		lately[to] += moved
	}
	return p.recurrence.expected(len(names), lately)
}

// lately is the fraction of each class in what was seen; nil where nothing was seen of any.
func (p *proportions) lately(names []string) []float64 {
	counts := make([]float64, len(names))
	var sum float64
	for c, name := range names {
		counts[c] = p.counts[name]
		sum += counts[c]
	}
	if sum == 0 {
		return nil
	}
	for c := range counts {
		counts[c] /= sum
	}
	return counts
}

func (p *proportions) total() (sum float64) {
	for _, name := range p.names() { // in order: a sum must not depend on a map's
		sum += p.counts[name]
	}
	return sum
}

func (p *proportions) names() []string { return slices.Sorted(maps.Keys(p.counts)) }

// variety is 1 - sum p^2 over the stream's proportions p, the chance that two of its items are of two classes; 0 where
// nothing was seen yet.
func (p *proportions) variety() float32 {
	var sum, squares float64
	for _, name := range p.names() {
		n := p.counts[name]
		sum += n
		squares += n * n
	}
	if sum == 0 {
		return 0
	}
	return float32(1 - squares/(sum*sum))
}

// observe takes in what an episode held.
func (p *proportions) observe(e *answered) {
	if e.solved == nil {
		return
	}
	k := e.problem.K
	masses := masses(e.solved.S[:len(e.items)*k], k)
	if lately := p.lately(e.problem.names); lately != nil {
		p.recurrence = p.after(lately, masses)
	}
	if p.counts == nil {
		p.counts = map[string]float64{}
	}
	for c, name := range e.problem.names {
		p.counts[name] = p.counts[name]/2 + masses[c]
	}
	maps.DeleteFunc(p.counts, func(name string, _ float64) bool { return !e.problem.labelled(name) })
}

func (p *proportions) reset(class string) bool {
	_, had := p.counts[class]
	delete(p.counts, class)
	return had
}

func (p *proportions) encode(e *encoder) {
	e.head.float(fieldAgain, p.again)
	e.head.float(fieldRecurrenceMass, p.all)
	for _, name := range p.names() {
		e.class(name).float(fieldCount, p.counts[name])
	}
}

func (p *proportions) decode(f *field) {
	switch {
	case f.is("head", fieldAgain):
		p.again = f.float()
	case f.is("head", fieldRecurrenceMass):
		p.all = f.float()
	case f.is("head", 0):
		if !(p.again >= 0 && p.again <= p.all*(1+1e-9)) {
			f.fail("recurrence")
		}
	case f.is("class", fieldCount):
		if p.counts == nil {
			p.counts = map[string]float64{}
		}
		if p.counts[f.class] = f.float(); !(p.counts[f.class] >= 0) {
			f.fail("count below zero")
		}
	}
}
