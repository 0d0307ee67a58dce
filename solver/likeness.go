package solver

import (
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Weights say how much two sources of evidence count in R: the costs a of prototypes are multiplied by
// Prototypes, and R has the further term - Nearest sum_p s_p . n_p over the unlabelled rows, where n_pk is the
// likeness of row p to the most alike labelled row of class k, the episode's own among them. Both are fixed in
// a solve, so that R falls as without them.
type Weights struct {
	Prototypes float64 // f, above 0
	Nearest    float64 // w, not below 0
}

// Likeness is the cosine in u-space. A labelled row of the episode counts as more alike, by recencyBonus if it
// comes right before or after the other and less with each position between them: what is near in time is
// often the same thing. A class without a labelled row, or with none more alike, has LeastLikeness.
const (
	LeastLikeness = -.2
	recencyBonus  = .2
	recencyReach  = 300 // positions
)

// mostWeight bounds both weights.
const mostWeight = 1e6

func (w *Weights) check() error {
	switch {
	case w == nil:
	case !(w.Prototypes > 0 && w.Prototypes <= mostWeight && w.Nearest >= 0 && w.Nearest <= mostWeight):
		return fmt.Errorf("weights: prototypes %g and nearest %g: not above 0, and from 0, to %g",
			w.Prototypes, w.Nearest, float64(mostWeight))
	}
	return nil
}

// likeness is the likeness of an episode's rows to labelled rows, times its weight.
type likeness struct {
	weight   float64   // 0: there are no values
	values   []float32 // n x k: of active classes
	labelled []int32   // rows of the episode
	class    []int32   // theirs: active ones
	row      []float32 // k
	expected []float32 // k: beta log pi, of Given
}

// takeWeights takes the problem's weights, once its labels are in force and its rows compared.
func (e *episode) takeWeights(p *Problem) {
	l := &e.likeness
	e.model.sharpness, l.weight = 1, 0
	if p.Weights == nil || e.classes.clustering {
		return
	}
	e.model.sharpness, l.weight = p.Weights.Prototypes, p.Weights.Nearest
	e.anneal(0, 0)
	if l.weight == 0 {
		return
	}
	e.listLabelled(e.rows.label[:e.rows.n], nil)
	l.values = vector.Resize(l.values, e.rows.n*e.classes.k)
	for i := range e.rows.n {
		e.likenessOf(l.values[i*e.classes.k:(i+1)*e.classes.k], i)
	}
	kernel.Scale(float32(l.weight), l.values)
}

// add adds n rows' values from lo on, or those of the listed rows, to their scores.
func (l *likeness) add(scores []float32, k, lo, n int, listed []int32) {
	if l.weight == 0 {
		return
	}
	if listed == nil {
		kernel.Axpy(1, l.values[lo*k:(lo+n)*k], scores)
		return
	}
	for i, p := range listed[:n] {
		kernel.Axpy(1, l.values[int(p)*k:(int(p)+1)*k], scores[i*k:(i+1)*k])
	}
}

// term returns what a row's values add to R. s_p is scale times row.
func (l *likeness) term(p int, row []float32, scale float64) (sum float64) {
	if l.weight == 0 {
		return 0
	}
	for c, v := range l.values[p*len(row) : (p+1)*len(row)] {
		sum -= float64(v) * float64(row[c]) * scale
	}
	return sum
}

// listLabelled lists the rows with a label, and their active classes. number turns a label into one; nil: it is one.
func (e *episode) listLabelled(labels, number []int32) {
	l := &e.likeness
	l.labelled, l.class = l.labelled[:0], l.class[:0]
	for p, y := range labels {
		if y >= 0 && number != nil {
			y = number[y]
		}
		if y >= 0 {
			l.labelled, l.class = append(l.labelled, int32(p)), append(l.class, y)
		}
	}
}

// likenessOf fills out, k values, with the likeness of a row to labelled rows, the other listed ones among them.
func (e *episode) likenessOf(out []float32, p int) {
	for c := range out {
		out[c] = LeastLikeness
	}
	if e.rows.label[p] >= 0 {
		return
	}
	if nearestU, all := e.examples.nearestU, len(e.classes.number); len(nearestU) > 0 {
		for c, class := range e.classes.active {
			out[c] = max(out[c], 1-nearestU[p*all+int(class)]/2)
		}
	}
	for j, q := range e.likeness.labelled {
		if int(q) != p {
			like, c := 1-e.prototypes.space.squaredDistance(p, int(q))/2, e.likeness.class[j]
			out[c] = max(out[c], like+Recency(e.time(p)-e.time(int(q))))
		}
	}
}

// time returns the position in time of a row, 0 for the first.
func (e *episode) time(p int) int { return (p + e.rows.earlier) % e.rows.n }

// Recency is what a labelled row of the episode counts as more alike to one that is so many positions away.
func Recency(positions int) float32 {
	return float32(recencyBonus * math.Exp(-math.Abs(float64(positions))/recencyReach))
}

// Sources are what each source of evidence says of a row before it is weighed, a value for each class. The sum of
// the first two, by Weights, and of the others is the logarithm of the row's S, up to what all classes share.
type Sources struct {
	Prototypes  []float32 // -a; -Inf: a class with neither a labelled row nor a prior
	Nearest     []float32 // n
	Graph       []float32 // lambda (W S + b)
	Proportions []float32 // beta log pi
}

// Given is a solve whose rows have further labels, with their S as it was solved without.
type Given struct {
	episode *episode
	labels  []int32
}

// Given gives rows these labels in addition to those of the last Solve, -1 for none, until the next call.
func (x *Space) Given(labels []int32) Given {
	e := &x.solver.episode
	e.listLabelled(labels, e.classes.number)
	l := &e.likeness
	l.expected = vector.Zeroed(l.expected, e.classes.k)
	if e.model.beta > 0 {
		for c := range l.expected {
			l.expected[c] = float32(e.model.beta * math.Log(e.classes.pi[c]))
		}
	}
	return Given{e, labels}
}

// Sources fills out with what the sources say of row p, unlabelled in the solve, by what the others are given.
func (g Given) Sources(p int, out *Sources) {
	e, l, k := g.episode, &g.episode.likeness, len(g.episode.classes.number)
	for _, values := range []*[]float32{&out.Prototypes, &out.Nearest, &out.Graph, &out.Proportions} {
		*values = vector.Zeroed(*values, k)
	}
	for c := range k {
		out.Prototypes[c], out.Nearest[c] = float32(math.Inf(-1)), LeastLikeness
	}
	l.row = vector.Resize(l.row, e.classes.k)
	e.likenessOf(l.row, p)
	dots := e.prototypes.space.dots(e.pool.workers[0], p, 1, nil)
	if e.model.modes {
		e.kernels(dots, dots, p, 1, nil)
	}
	for c, class := range e.classes.active {
		if out.Nearest[class] = l.row[c]; e.model.modes {
			out.Prototypes[class] = float32(e.settings.Kappa) * dots[c]
		} else {
			out.Prototypes[class] = float32(e.settings.Tau) * (2*dots[c] - float32(e.prototypes.psi[c]))
		}
		out.Proportions[class] = l.expected[c]
	}
	lambda := float32(e.model.lambda)
	if lambda == 0 {
		return
	}
	columns, weights := e.graph.Row(p)
	for j, q := range columns {
		by := lambda * weights[j]
		switch {
		case int(q) >= e.rows.n:
			out.Graph[e.classes.active[e.rows.label[q]]] += by
		case g.labels[q] >= 0:
			out.Graph[g.labels[q]] += by
		default:
			for c, v := range e.s.all(int(q)) {
				out.Graph[e.classes.active[c]] += by * v
			}
		}
	}
	if e.graph.evidence != nil {
		kernel.Axpy(lambda, e.graph.evidence[p*k:(p+1)*k], out.Graph)
	}
}
