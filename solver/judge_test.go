package solver

import (
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver/metric"
)

// judge solves an episode slowly in float64, from the formulas alone. It shares no code with the
// engines it checks.
type judge struct {
	settings Settings
	u        [][]float64 // rows, examples, prior prototypes
	label    []int       // -1: to be solved
	weight   []float64
	n, k     int
	masked   []bool
	w        *index.Affinity
	c        [][]float64
	s        [][]float64
	pi, pi0  []float64
	lambda   float64
	scale    float64 // of lambda, tau and kappa: below 1 in the annealed start
	evidence []float32
	weights  Weights
	like     [][]float64 // rows x K
	sigma2   float64
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

func inner(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func plus(a []float64, f float64, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] + f*b[i]
	}
	return out
}

func unitOf(a []float64) []float64 {
	l := math.Sqrt(inner(a, a))
	if l == 0 {
		return a
	}
	return plus(make([]float64, len(a)), 1/l, a)
}

func newJudge(s Settings, p *Problem, w *index.Affinity) *judge {
	j := &judge{
		settings: s,
		n:        p.Rows.N(),
		k:        p.K,
		w:        w,
		lambda:   s.Lambda,
		scale:    1,
		sigma2:   s.Sigma * s.Sigma,
		masked:   make([]bool, p.K),
		evidence: p.Evidence,
		weights:  Weights{Prototypes: 1},
	}
	if p.Weights != nil {
		j.weights = *p.Weights
	}
	if s.Method == "kmeans" || s.Method == "kmodes" || s.Method == "nearest" {
		j.lambda = 0
	}
	ws := s.LabelWeight
	known := make([]bool, p.K)
	for i := range p.Rows.N() {
		y := -1
		if p.Labels != nil {
			y = int(p.Labels[i])
		}
		j.label = append(j.label, y)
	}
	for _, y := range p.Examples.labels {
		j.label = append(j.label, int(y))
	}
	var raised [][]float64
	raw := append(wide(p.Rows.values), wide(p.Examples.rows.values)...)
	for i := range j.label {
		x := raw[i*p.Rows.d : i*p.Rows.d+p.Rows.d]
		for e, v := range x {
			x[e] = math.Copysign(math.Pow(math.Abs(v), s.Power), v)
		}
		raised = append(raised, x)
		j.weight = append(j.weight, 0)
		if j.label[i] >= 0 {
			j.weight[i] = ws
			known[j.label[i]] = true
		}
	}
	mu := make([]float64, p.Rows.d)
	if p.Embedding != nil {
		mu = wide(p.Embedding.Mean)
	} else {
		classes := 0.
		for c := range p.K {
			if known[c] {
				classes++
			}
		}
		for c := range p.K {
			sum, count := make([]float64, p.Rows.d), 0.
			for i, y := range j.label {
				if y == c {
					sum, count = plus(sum, 1, raised[i]), count+1
				}
			}
			if count > 0 {
				mu = plus(mu, 1/(count*classes), sum)
			}
		}
	}
	var learned *metric.Map
	if p.Embedding != nil && p.Embedding.Metric != nil {
		learned = new(metric.Map)
		p.Embedding.Metric.About(nil, learned)
	}
	toU := func(z []float64) []float64 {
		if learned == nil {
			return z
		}
		v := plus(z, -1, wide(learned.Centre))
		out := v
		for r, scale := range learned.Scales {
			direction := wide(learned.Vectors[r*p.Rows.d : r*p.Rows.d+p.Rows.d])
			out = plus(out, (float64(scale)-1)*inner(direction, v), direction)
		}
		return unitOf(out)
	}
	for _, x := range raised {
		j.u = append(j.u, toU(unitOf(plus(x, -1, mu))))
	}
	j.findLikeness(p.Earlier)
	if p.Prior != nil {
		for c, pw := range p.Prior.Weights {
			if pw > 0 {
				m := wide(p.Prior.Means[c*p.Rows.d : c*p.Rows.d+p.Rows.d])
				u := plus(make([]float64, p.Rows.d), math.Sqrt(inner(m, m)), unitOf(toU(m)))
				j.u, j.label, j.weight = append(j.u, u), append(j.label, c), append(j.weight, float64(pw))
				known[c] = true
			}
		}
	}
	total := 0.
	j.pi0 = make([]float64, p.K)
	for c := range p.K {
		if j.masked[c] = !known[c]; !j.masked[c] {
			j.pi0[c] = 1
			if p.Proportions != nil {
				j.pi0[c] = p.Proportions[c]
			}
			total += j.pi0[c]
		}
	}
	for c := range p.K {
		j.pi0[c] /= total
	}
	j.pi = append([]float64(nil), j.pi0...)
	return j
}

// findLikeness fills the likeness of each row to the most alike labelled row of each class.
func (j *judge) findLikeness(earlier int) {
	for p := range j.n {
		row := make([]float64, j.k)
		for c := range row {
			row[c] = -.2
		}
		for q, y := range j.label {
			if y < 0 {
				continue
			}
			like := inner(j.u[p], j.u[q])
			if q < j.n {
				apart := (p+earlier)%j.n - (q+earlier)%j.n
				like += .2 * math.Exp(-math.Abs(float64(apart))/300)
			}
			row[y] = max(row[y], like)
		}
		j.like = append(j.like, row)
	}
}

// masses returns the sums of S over the unlabelled rows, and their number.
func (j *judge) masses() (mass []float64, n float64) {
	mass = make([]float64, j.k)
	for p := range j.n {
		if j.label[p] < 0 {
			mass, n = plus(mass, 1, j.s[p]), n+1
		}
	}
	return mass, n
}

func (j *judge) cost(p, c int) float64 {
	s := &j.settings
	difference := plus(j.u[p], -1, j.c[c])
	if j.modes() {
		return -j.weights.Prototypes * s.Kappa * math.Exp(-inner(difference, difference)/(2*j.sigma2))
	}
	r := math.Sqrt(inner(j.c[c], j.c[c]))
	psi := 0.
	if s.Pull < 1 {
		psi = 2 * (1 - s.Pull) / (2 - s.Pull) * math.Pow(r, (2-s.Pull)/(1-s.Pull))
	}
	return j.weights.Prototypes * s.Tau * (inner(j.u[p], j.u[p]) - 2*inner(j.u[p], j.c[c]) + psi)
}

// objective returns R, term by term.
func (j *judge) objective() float64 {
	s := &j.settings
	var r float64
	for p := range j.n {
		if j.label[p] >= 0 {
			continue
		}
		for c := range j.k {
			if v := j.s[p][c]; v > 0 {
				r += v*(j.cost(p, c)-j.weights.Nearest*j.like[p][c]) + v*math.Log(v)
				if s.Beta > 0 {
					r -= s.Beta * v * math.Log(j.pi[c])
				}
			}
		}
		for c := range j.k {
			r -= j.lambda * j.evidenceOf(p, c) * j.s[p][c]
		}
		columns, weights := j.w.Row(p)
		for e, q := range columns {
			if y := j.label[q]; y >= 0 {
				r -= j.lambda * float64(weights[e]) * j.s[p][y]
			} else {
				r -= j.lambda / 2 * float64(weights[e]) * inner(j.s[p], j.s[q])
			}
		}
	}
	for p, y := range j.label {
		if y >= 0 {
			r += j.weight[p] * j.cost(p, y)
		}
	}
	if s.Beta > 0 {
		for c, v := range j.pi0 {
			if v > 0 {
				r -= s.Beta * s.PriorCounts * v * math.Log(j.pi[c])
			}
		}
	}
	return r
}

func (j *judge) evidenceOf(p, c int) float64 {
	if j.evidence == nil {
		return 0
	}
	return float64(j.evidence[p*j.k+c])
}

func (j *judge) modes() bool { return j.settings.Method == "slk-ms" || j.settings.Method == "kmodes" }

// share returns the weight of row p in class c. With soft, unlabelled points count too.
func (j *judge) share(p, c int, soft bool) float64 {
	switch y := j.label[p]; {
	case y == c:
		return j.weight[p]
	case y < 0 && soft:
		return j.s[p][c]
	}
	return 0
}

// prototypes minimises R in C: exactly for means; for modes by mean shift from the present ones, at first
// from the mean of labelled rows and prior.
func (j *judge) prototypes(soft bool) {
	if !j.modes() || !soft {
		j.means(soft)
	}
	if j.modes() {
		j.shift(soft)
	}
}

// shift moves the modes until no density rises by more than a millionth.
func (j *judge) shift(soft bool) {
	before := make([]float64, j.k)
	for range 100 {
		moving := false
		for c := range j.k {
			sum, density := make([]float64, len(j.u[0])), 0.
			for p := range j.u {
				if weight := j.share(p, c, soft); weight > 0 {
					weight *= j.cost(p, c) / (-j.settings.Kappa * j.weights.Prototypes)
					sum, density = plus(sum, weight, j.u[p]), density+weight
				}
			}
			if density > 0 {
				j.c[c] = plus(make([]float64, len(sum)), 1/density, sum)
			}
			moving = moving || density > before[c]*(1+1e-6)
			before[c] = density
		}
		if !moving {
			return
		}
	}
}

func (j *judge) means(soft bool) {
	for c := range j.k {
		sum, mass := make([]float64, len(j.u[0])), 0.
		for p := range j.label {
			share := j.share(p, c, soft)
			sum, mass = plus(sum, share, j.u[p]), mass+share
		}
		if mass > 0 {
			m := plus(make([]float64, len(sum)), 1/mass, sum)
			length := math.Sqrt(inner(m, m))
			if length > 0 && !j.modes() {
				m = plus(make([]float64, len(sum)), 1/math.Pow(length, j.settings.Pull), m)
			}
			j.c[c] = m
		}
	}
}

// sweep updates the points one after the other.
func (j *judge) sweep(graph bool) float64 { return j.sweepFrom(j.s, graph) }

// jacobi updates all points from the old S.
func (j *judge) jacobi() float64 { return j.sweepFrom(append([][]float64(nil), j.s...), true) }

// sweepFrom updates each point, with the s of its neighbours taken from from.
func (j *judge) sweepFrom(from [][]float64, graph bool) float64 {
	var change float64
	points := 0.
	for p := range j.n {
		if j.label[p] >= 0 {
			continue
		}
		points++
		score := make([]float64, j.k)
		top := math.Inf(-1)
		for c := range j.k {
			score[c] = math.Inf(-1)
			if j.masked[c] {
				continue
			}
			score[c] = -j.scale*j.cost(p, c) + j.weights.Nearest*j.like[p][c]
			if j.settings.Beta > 0 {
				score[c] += j.settings.Beta * math.Log(j.pi[c])
			}
		}
		if graph {
			for c := range j.k {
				score[c] += j.scale * j.lambda * j.evidenceOf(p, c)
			}
			columns, weights := j.w.Row(p)
			for e, q := range columns {
				for c := range j.k {
					v := from[q%int32(j.n)][c]
					if y := j.label[q]; y >= 0 {
						v = 0
						if y == c {
							v = 1
						}
					}
					score[c] += j.scale * j.lambda * float64(weights[e]) * v
				}
			}
		}
		for _, v := range score {
			top = math.Max(top, v)
		}
		var sum float64
		for c := range score {
			score[c] = math.Exp(score[c] - top)
			sum += score[c]
		}
		for c := range score {
			score[c] /= sum
			change += math.Abs(score[c] - j.s[p][c])
		}
		j.s[p] = score
	}
	return change / math.Max(1, points)
}

// start computes C from labelled rows and prior, and S from C.
func (j *judge) start() {
	j.c, j.s = make([][]float64, j.k), make([][]float64, j.n)
	for c := range j.c {
		j.c[c] = make([]float64, len(j.u[0]))
	}
	for p := range j.s {
		j.s[p] = make([]float64, j.k)
		if y := j.label[p]; y >= 0 {
			j.s[p][y] = 1
		}
	}
	j.prototypes(false)
	j.sweep(false)
}

// solve descends as the method requires.
func (j *judge) solve() {
	j.start()
	if method := j.settings.Method; method == "laplacianshot" || method == "nearest" { // C is fixed
		for sweeps := 0; method == "laplacianshot" && sweeps < 20 && j.sweep(true) > j.settings.Tolerance; sweeps++ {
		}
		return
	}
	start := 0
	if a := j.settings.Anneal; a > 0 && a < 1 {
		start = j.settings.AnnealSteps
	}
	for step := range j.settings.Outer {
		if j.scale = 1; step < start {
			j.scale = j.settings.Anneal + (1-j.settings.Anneal)*float64(step)/float64(start)
		}
		still := false
		for i := range j.settings.Inner {
			if j.sweep(true) <= j.settings.Tolerance && step >= start {
				still = i == 0
				break
			}
		}
		j.prototypes(true)
		if j.settings.Beta > 0 {
			mass, points := j.masses()
			for c := range j.k {
				j.pi[c] = (mass[c] + j.settings.PriorCounts*j.pi0[c]) / (points + j.settings.PriorCounts)
			}
		}
		if still {
			break
		}
	}
	j.scale = 1
}
