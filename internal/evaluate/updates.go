package evaluate

import (
	"cmp"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// The updates of two papers for batches of rows with a few labelled ones, which replace the papers' class
// names read by a text encoder: TransCLIP (Zanella, Gérin, Ben Ayed 2024) fits Gaussians of one shared
// diagonal covariance; StatA (Zanella, Fuchs, De Vleeschouwer, Ben Ayed 2025) fits Gaussians with one
// covariance each, and a divergence keeps them near anchors from the labelled rows. They use the batch alone.
const (
	TransCLIP = "transclip"
	StatA     = "stata"
)

// Updates lists the updates, these and those of updates_support.go.
var Updates = []string{TransCLIP, StatA, PADDLE, AlphaTIM}

// The papers' numbers, except for sharpness: their 100 is for cosines of texts and images. With labelled rows
// in place of texts, 30 is the best of 10, 30, 100 and 300 for StatA, and TransCLIP hardly depends on it.
const (
	updateSharpness  = 30
	updateSteps      = 10
	updateSweeps     = 5
	updateNeighbours = 3
	updateLabelled   = .02 // TransCLIP: weight of the mean labelled row against the mean row of the batch
	updateFirst      = .5  // TransCLIP: weight of the first answers
	updateAnchor     = 1.  // StatA: weight of the anchors, in rows
)

// update answers the unlabelled rows among unit rows; labels are -1 for them, else 0 to k-1.
func update(method string, rows []float32, d int, labels []int32, k int) []int32 {
	switch method {
	case PADDLE:
		return paddle(rows, d, labels, k)
	case AlphaTIM:
		return alphaTIM(rows, d, labels, k)
	}
	m := newMixture(method == StatA, rows, d, labels, k)
	neighbours := alike(rows, labels, d)
	densities := make([]float64, len(labels)*k)
	for range updateSteps {
		m.measure(densities)
		for range updateSweeps {
			m.sweep(densities, neighbours)
		}
		m.fit()
	}
	return m.answers()
}

// mixture is the model of TransCLIP and StatA: a normal density of each class, of independent numbers.
type mixture struct {
	statA  bool // else TransCLIP
	rows   []float32
	d      int
	labels []int32
	k      int

	first        []float64 // logarithms of the first answers, n x k
	z            []float64 // the answers, n x k
	means        []float64 // k x d
	spread       []float64 // variances, k x d; for TransCLIP the same for every class
	anchors      []float64 // the first means
	anchored     []float64 // StatA: variances about the anchors
	batch, known float64   // rows without and with a label
}

// newMixture returns the model of the labelled rows, with the first answers by their means.
func newMixture(statA bool, rows []float32, d int, labels []int32, k int) *mixture {
	n := len(labels)
	m := &mixture{
		statA: statA, rows: rows, d: d, labels: labels, k: k,
		first: make([]float64, n*k), z: make([]float64, n*k), means: make([]float64, k*d), spread: make([]float64, k*d),
	}
	for i, c := range labels {
		if c < 0 {
			m.batch++
			continue
		}
		m.known++
		for j, v := range m.row(i) {
			m.means[int(c)*d+j] += float64(v)
		}
	}
	for c := range k {
		mean := m.means[c*d : c*d+d]
		length := math.Sqrt(dot(mean, mean))
		for j := range mean {
			mean[j] /= max(length, 1e-12)
		}
	}
	m.anchors = slices.Clone(m.means)
	for i, y := range labels {
		if y >= 0 {
			m.z[i*k+int(y)] = 1
		} else {
			m.answerFirst(i)
		}
	}
	for i := range m.spread {
		m.spread[i] = 1 / float64(d)
	}
	if statA {
		m.anchor()
	}
	return m
}

// row returns row i.
func (m *mixture) row(i int) []float32 { return m.rows[i*m.d : i*m.d+m.d] }

// answerFirst answers an unlabelled row by its cosines to the means.
func (m *mixture) answerFirst(i int) {
	first, z := m.first[i*m.k:i*m.k+m.k], m.z[i*m.k:i*m.k+m.k]
	for c := range first {
		for j, v := range m.row(i) {
			first[c] += updateSharpness * float64(v) * m.means[c*m.d+j]
		}
	}
	softmaxInto(z, first)
	for c, v := range z {
		first[c] = math.Log(max(v, 1e-12))
	}
}

// anchor sets the variances to those of the batch about the anchors, by the first answers.
func (m *mixture) anchor() {
	m.anchored = make([]float64, m.d)
	for i, y := range m.labels {
		for c := range m.k {
			if w := m.z[i*m.k+c]; y < 0 && w > 0 {
				for j, v := range m.row(i) {
					e := float64(v) - m.anchors[c*m.d+j]
					m.anchored[j] += w * e * e / max(m.batch, 1)
				}
			}
		}
	}
	for i := range m.spread {
		m.spread[i] = max(m.anchored[i%m.d], 1e-9)
	}
}

// measure computes the logarithm of each class's density at each unlabelled row.
func (m *mixture) measure(out []float64) {
	for c := range m.k {
		mean, variance, constant := m.means[c*m.d:c*m.d+m.d], m.spread[c*m.d:c*m.d+m.d], 0.
		if m.statA {
			for _, v := range variance {
				constant -= math.Log(v) / 2
			}
		}
		inverse := make([]float64, m.d)
		for j, v := range variance {
			inverse[j] = 1 / (2 * v)
		}
		for i, y := range m.labels {
			if y >= 0 {
				continue
			}
			sum := constant
			for j, v := range m.row(i) {
				e := float64(v) - mean[j]
				sum -= e * e * inverse[j]
			}
			out[i*m.k+c] = sum
		}
	}
}

// sweep answers each unlabelled row by the first answers, the densities, and the answers of its neighbours before.
func (m *mixture) sweep(densities []float64, neighbours [][]pull) {
	weight := updateFirst
	if m.statA {
		weight = 1
	}
	was, mixed := slices.Clone(m.z), make([]float64, m.k)
	for i, y := range m.labels {
		if y >= 0 {
			continue
		}
		for c := range mixed {
			mixed[c] = weight*m.first[i*m.k+c] + densities[i*m.k+c]
			for _, x := range neighbours[i] {
				mixed[c] += x.weight * was[x.at*m.k+c]
			}
		}
		softmaxInto(m.z[i*m.k:i*m.k+m.k], mixed)
	}
}

// weight is how much a row counts for a class. TransCLIP: the labelled rows together weigh updateLabelled of the batch.
// StatA: they do not count.
func (m *mixture) weight(i, c int) float64 {
	z := m.z[i*m.k+c]
	switch {
	case m.statA && m.labels[i] >= 0:
		return 0
	case m.statA:
		return z
	case m.labels[i] >= 0:
		return updateLabelled * z / max(m.known, 1)
	}
	return z / max(m.batch, 1)
}

// fit sets means and variances to minimise the objective: weighted ones, for StatA with the anchors added as
// updateAnchor rows.
func (m *mixture) fit() {
	prior := 0.
	if m.statA {
		prior = updateAnchor
	}
	shared, all := make([]float64, m.d), 0.
	for c := range m.k {
		mean, variance := m.means[c*m.d:c*m.d+m.d], m.spread[c*m.d:c*m.d+m.d]
		sum, square, total := make([]float64, m.d), make([]float64, m.d), 0.
		for i := range m.labels {
			if w := m.weight(i, c); w > 1e-12 {
				total += w
				for j, v := range m.row(i) {
					sum[j] += w * float64(v)
				}
			}
		}
		if total+prior <= 0 {
			continue
		}
		for j := range mean {
			mean[j] = (sum[j] + prior*m.anchors[c*m.d+j]) / (total + prior)
		}
		for i := range m.labels {
			if w := m.weight(i, c); w > 1e-12 {
				for j, v := range m.row(i) {
					e := float64(v) - mean[j]
					square[j] += w * e * e
				}
			}
		}
		all += total
		for j := range variance {
			shared[j] += square[j]
			if m.statA {
				e := mean[j] - m.anchors[c*m.d+j]
				variance[j] = max((square[j]+prior*(m.anchored[j]+e*e))/(total+prior), 1e-9)
			}
		}
	}
	if !m.statA {
		for i := range m.spread {
			m.spread[i] = max(shared[i%m.d]/max(all, 1e-12), 1e-9)
		}
	}
}

// answers returns the likeliest class of each row.
func (m *mixture) answers() []int32 {
	out := make([]int32, len(m.labels))
	for i := range out {
		at := m.z[i*m.k : i*m.k+m.k]
		out[i] = int32(slices.Index(at, slices.Max(at)))
	}
	return out
}

// pull is the weight of a row in the answer of another.
type pull struct {
	at     int
	weight float64
}

// alike returns the updateNeighbours rows most similar to each unlabelled one, with cosines above 0.
func alike(rows []float32, labels []int32, d int) [][]pull {
	out := make([][]pull, len(labels))
	for i, y := range labels {
		if y >= 0 {
			continue
		}
		var best []pull
		for j, other := range labels {
			if j != i && other < 0 {
				best = append(best, pull{j, float64(kernel.Dot(rows[i*d:i*d+d], rows[j*d:j*d+d]))})
			}
		}
		slices.SortStableFunc(best, func(a, b pull) int { return cmp.Compare(b.weight, a.weight) })
		best = best[:min(updateNeighbours, len(best))]
		out[i] = slices.DeleteFunc(best, func(x pull) bool { return x.weight <= 0 })
	}
	return out
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// softmaxInto writes the softmax of scores to out.
func softmaxInto(out, scores []float64) {
	most, sum := slices.Max(scores), 0.
	for i, v := range scores {
		out[i] = math.Exp(v - most)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
}

// updated answers a problem by an update, over rows as the solver embeds them, without a metric.
func updated(method string, p *solver.Problem) ([]int32, error) {
	s := solver.Defaults()
	s.Method, s.MetricRank = solver.Nearest, 0
	solve, err := solver.New(s)
	if err != nil {
		return nil, err
	}
	plain := *p
	if p.Embedding != nil {
		plain.Embedding = &solver.Embedding{Mean: p.Embedding.Mean}
	}
	x, err := solve.Embed(&plain)
	if err != nil {
		return nil, err
	}
	return update(method, x.Z(), p.Rows.D(), p.Labels, p.K), nil
}
