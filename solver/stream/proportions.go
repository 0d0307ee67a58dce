package stream

import (
	"iter"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// proportions are how much of each class came recently, and how often a stream's classes recur: of the mass of
// about the last ten episodes, the part that the episodes before predicted. At a street camera nine items in ten
// are of classes that were just there. On a table where one object is shown after another it is one in five, and
// to expect the others as well costs more than it gains.
type proportions struct {
	counts map[string]float64 // items of each class; each episode halves those counted before
	again  float64            // mass of classes that recurred
	all    float64            // mass of all
}

// recurrence is again / all, with one item that recurred and one that did not added: 1/2 for a new stream.
func (p *proportions) recurrence() float64 { return (p.again + 1) / (p.all + 2) }

func (p *proportions) contribute(e *episode) { e.problem.Proportions = p.expected(e.problem, nil) }

// expected returns pi0, the class fractions that an episode is expected to have: w lately + (1-w)/K, with w the
// recurrence and lately the recent fractions, as far as tested answers do not correct these. If nothing was counted all
// are 1/K.
func (p *proportions) expected(of *problem, tested []verdict) []float64 {
	lately := p.lately(nil, of.names)
	if lately == nil {
		return uniform(len(of.names))
	}
	if len(tested) > 0 {
		correct(lately, of, tested)
	}
	w := p.recurrence()
	for c := range lately {
		lately[c] = w*lately[c] + (1-w)/float64(len(lately))
	}
	return lately
}

// correct moves fractions to the classes of labels that test answers. What was recently counted for the class of a
// wrong answer may have been of the label's class: it moves there, in as large a part as such answers are
// among those tested. Without that, an object that is consistently misclassified would be expected under the
// wrong class forever.
func correct(fractions []float64, of *problem, tested []verdict) {
	answers, before := map[string]float64{}, slices.Clone(fractions)
	for _, t := range tested {
		answers[t.predicted]++
	}
	for _, t := range tested {
		from, to := of.numbers[t.predicted], of.numbers[t.label]
		moved := before[from] / answers[t.predicted]
		fractions[from] -= moved
		fractions[to] += moved
	}
}

func uniform(k int) []float64 { return slices.Repeat([]float64{1 / float64(k)}, k) }

// lately returns the recent fraction of each class, in out's memory; nil if nothing was counted for any.
func (p *proportions) lately(out []float64, names []string) []float64 {
	counts := vector.Resize(out, len(names))
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
	for _, name := range p.names() { // in order: rounding must not depend on that of a map
		sum += p.counts[name]
	}
	return sum
}

func (p *proportions) names() []string { return slices.Sorted(maps.Keys(p.counts)) }

// variety is 1 - sum p^2 over the stream's proportions p, the probability that two of its items are of two
// classes; 0 before the first item.
func (p *proportions) variety() float32 {
	sum, squares := p.total(), 0.
	for _, name := range p.names() {
		squares += p.counts[name] * p.counts[name]
	}
	if sum == 0 {
		return 0
	}
	return float32(1 - squares/(sum*sum))
}

// observe learns from the class masses of an episode. The recurrence makes one step of expectation
// maximisation: a class's mass is shared between the two reasons for which it was expected. Earlier rows that
// were solved with the episode count in the recent fractions, as these apply to such rows next time.
func (p *proportions) observe(e *episode) {
	if e.solved == nil {
		return
	}
	k := e.problem.K
	masses, was := vector.Zeroed(e.problem.masses[0], k), vector.Resize(e.problem.masses[1], k)
	e.problem.masses = [...][]float64{masses, was}
	for i, v := range e.solved.S[:len(e.items)*k] {
		masses[i%k] += float64(v)
	}
	if lately := p.lately(was, e.problem.names); lately != nil {
		w := p.recurrence()
		p.again, p.all = episodeKept*p.again, episodeKept*p.all
		for c, mass := range masses {
			again := w * lately[c]
			p.again += mass * again / (again + (1-w)/float64(k))
			p.all += mass
		}
	}
	if p.counts == nil {
		p.counts = map[string]float64{}
	}
	for i, v := range e.solved.S[len(e.items)*k : len(e.rows)*k] {
		masses[i%k] += float64(v)
	}
	for c, name := range e.problem.names {
		p.counts[name] = p.counts[name]/2 + masses[c]
	}
	if len(p.counts) > k {
		maps.DeleteFunc(p.counts, func(name string, _ float64) bool { return !e.problem.labelled(name) })
	}
}

func (p *proportions) detach() { p.counts = maps.Clone(p.counts) }

func (p *proportions) reset(class string) bool {
	_, had := p.counts[class]
	delete(p.counts, class)
	return had
}

func (p *proportions) known() iter.Seq[string] { return maps.Keys(p.counts) }

func (p *proportions) fields(f *piece.Fields) {
	switch f.Kind {
	case "head":
		piece.Number(f, piece.Again, &p.again)
		piece.Number(f, piece.RecurrenceMass, &p.all)
		f.Check(p.again >= 0 && p.again <= p.all*(1+1e-9), "recurrence")
	case "class":
		count, known := p.counts[f.Name]
		if f.Writes && !known {
			return
		}
		piece.Number(f, piece.Count, &count)
		if f.Check(count >= 0, "count"); f.Writes {
			return
		}
		if p.counts == nil {
			p.counts = map[string]float64{}
		}
		p.counts[f.Name] = count
	}
}
