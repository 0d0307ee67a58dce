package file

import (
	"context"
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/internal/vector"
)

// doubts are what an answer says of itself.
type doubts struct {
	confidence []float32 // of each row's label, 1 where it is labelled
	second     []int32   // the class with the largest A after the label's
	unknown    []float32 // distance to the nearest labelled row, smoothed over the graph
}

// doubt takes the place of S: A = softmax(-a) of each row; the confidence of a label is its part in (W A + A), and the unknown
// score (W h + h)/(degree + 1), h the distance to the nearest labelled row.
func (e *descent) doubt(labels []int32) doubts {
	k, d := e.k, e.points.d
	out := doubts{make([]float32, e.all), make([]int32, e.all), make([]float32, e.all)}
	inFile := (e.n + stretch - 1) / stretch
	eachOf(inFile+(e.all-e.n+stretch-1)/stretch, func(i int) {
		from, to, c := i*stretch, min(e.n, (i+1)*stretch), e.c
		if i >= inFile { // support that was held out: it has no place in the order
			from = e.n + (i-inFile)*stretch
			to, c = min(e.all, from+stretch), 0
		}
		rows := e.points.rows(from, to, e.points.scratch(stretch))
		scores, products := make([]float32, (to-from)*k), make([]float32, (to-from)*k)
		add := func(at *prototypes, part float64) {
			kernel.Products(products, rows, at.rows.Values, to-from, k, d)
			for j, v := range products {
				scores[j] += float32(part * e.Tau * (2*float64(v) - at.psi[j%k]))
			}
		}
		add(&e.file, 1-c)
		if c > 0 {
			own := newPrototypes(k, d)
			e.placeStretch(&own, from, to)
			add(&own, c)
		}
		kernel.SoftmaxRows(scores, to-from, k)
		for p := from; p < to; p++ {
			if e.class[p] < 0 {
				copy(e.s[p*k:p*k+k], scores[(p-from)*k:(p-from+1)*k])
			}
		}
	})
	far := e.distances()
	eachChunk(e.all, func(_, from, to int) {
		for p := from; p < to; p++ {
			out.second[p] = second(e.s[p*k:p*k+k], labels[p])
			if e.class[p] >= 0 {
				out.confidence[p] = 1
				continue
			}
			sum, h, degree, unlabelled := e.s[p*k+int(labels[p])], far[p], float32(1), float32(1)
			columns, weights := e.graph.Row(p)
			for j, q := range columns {
				sum += weights[j] * e.s[int(q)*k+int(labels[p])]
				degree += weights[j]
				if e.class[q] < 0 {
					h += weights[j] * far[q]
					unlabelled += weights[j]
				}
			}
			out.confidence[p], out.unknown[p] = sum/degree, h/unlabelled
		}
	})
	return out
}

// second is the class with the largest value beside one, which is returned where there is no other.
func second(values []float32, beside int32) int32 {
	best := beside
	for c, v := range values {
		if int32(c) != beside && (best == beside || v > values[best]) {
			best = int32(c)
		}
	}
	return best
}

// outside is the answer for a row of the support that was held out: the descent passes it over, as it is none of the file's.
func (e *descent) outside(p int) int32 {
	scores := make([]float32, e.k)
	kernel.Products(scores, e.points.rows(p, p+1, e.points.scratch(1)), e.file.rows.Values, 1, e.k, e.points.d)
	for c, v := range scores {
		scores[c] = float32(e.Tau*(2*float64(v)-e.file.psi[c]) + e.Beta*e.file.logPi[c])
	}
	columns, weights := e.graph.Row(p)
	for j, q := range columns {
		kernel.Axpy(float32(e.Lambda)*weights[j], e.s[int(q)*e.k:int(q)*e.k+e.k], scores)
	}
	return largest(scores, e.k)[0]
}

// distances are those of each row to the nearest labelled row; none where no row is labelled.
func (e *descent) distances() []float32 {
	d := e.points.d
	labelled := vector.Matrix{D: d}
	for p, y := range e.class {
		if y >= 0 {
			labelled = vector.Rows(append(labelled.Values, e.points.rows(p, p+1, e.points.scratch(1))...), d)
		}
	}
	out := make([]float32, e.all)
	if labelled.N == 0 {
		return out
	}
	squares := make([]float32, labelled.N)
	for i := range squares {
		squares[i] = kernel.Dot(labelled.Row(i), labelled.Row(i))
	}
	eachOf((e.all+stretch-1)/stretch, func(i int) {
		from, to := i*stretch, min(e.all, (i+1)*stretch)
		rows := e.points.rows(from, to, e.points.scratch(stretch))
		products := make([]float32, (to-from)*labelled.N)
		kernel.Products(products, rows, labelled.Values, to-from, labelled.N, d)
		for p := from; p < to; p++ {
			row, near := rows[(p-from)*d:(p-from+1)*d], float32(math.Inf(1))
			for j, v := range products[(p-from)*labelled.N : (p-from+1)*labelled.N] {
				near = min(near, squares[j]-2*v)
			}
			out[p] = float32(math.Sqrt(float64(max(0, near+kernel.Dot(row, row)))))
		}
	})
	return out
}

// enoughHeldOut is how many labelled rows, answered as if they were not labelled, a calibration must rest on.
const enoughHeldOut = 20

// ordered is the coherence from which the order of the file counts for its answers.
const ordered = .1

// heldOut is class without one labelled row of each class that has two or more, chosen by where it stands among them, and the
// rows held out.
func (l *loaded) heldOut(seed uint64) ([]int32, []int32) {
	rows := make([][]int32, l.k)
	for p, y := range l.class {
		if y >= 0 {
			rows[y] = append(rows[y], int32(p))
		}
	}
	class := slices.Clone(l.class)
	var held []int32
	for y, of := range rows {
		if len(of) < 2 {
			continue
		}
		count := max(1, len(of)/4)
		for i := range count {
			at := of[(int(seed%1024)+y+i*len(of)/count)%len(of)]
			class[at] = -1
			held = append(held, at)
		}
	}
	return class, held
}

// calibrate labels the file again without some of its labelled rows, and fits confidence and the limit of the unknown score to
// what it says of them.
func (l *loaded) calibrate(ctx context.Context, lists *index.Neighbours, similar *index.Affinity, s *Settings, r *Result) error {
	class, held := l.heldOut(s.Seed)
	outside := 0
	for _, p := range held {
		if int(p) >= l.n {
			outside++
		}
	}
	// Where order helps the rows of the file, what is said of rows that have no place in it says too little of them.
	if len(held) < enoughHeldOut || r.Coherence > ordered && 2*outside > len(held) {
		sorted := slices.Clone(r.UnknownScore)
		slices.Sort(sorted)
		r.UnknownLimit = vector.Quantile(sorted, 1-s.UnknownRate)
		return nil
	}
	answer, err := l.spreadLabels(ctx, similar, class, s.progress("calibrating"))
	if err != nil {
		return err
	}
	constants := l.labelling(s)
	e := newDescent(l, class, l.affinity(lists, class, constants.Rho, r.Coherence), r.Coherence, constants, answer)
	if err := e.run(ctx, false, s.progress("calibrating"), nil); err != nil {
		return err
	}
	labels := largest(e.s, l.k)
	right, z, far := make([]bool, len(held)), make([]float32, len(held)), make([]float32, len(held))
	for _, p := range held {
		if int(p) >= l.n {
			labels[p] = e.outside(int(p))
		}
	}
	all := e.doubt(labels)
	for i, p := range held {
		right[i], z[i], far[i] = labels[p] == l.class[p], all.confidence[i], all.unknown[i]
	}
	slope, offset := logistic.Fit(len(z), func(i int) (float64, bool) { return logit(z[i]), right[i] }, 2, 50)
	for p := range r.Confidence {
		if l.class[p] < 0 {
			r.Confidence[p] = float32(logistic.Sigmoid(slope*logit(r.Confidence[p]) + offset))
		}
	}
	slices.Sort(far)
	r.UnknownLimit, r.Calibrated = vector.Quantile(far, 1-s.UnknownRate), true
	return nil
}

func logit(z float32) float64 { return logistic.Logit(float64(z), 1e-4) }
