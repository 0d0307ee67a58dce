package file

import (
	"context"
	"fmt"
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

// doubt takes the place of S: A = softmax(-a) of each row, and S itself as far as a class is many rows side
// by side, where means say little, and labels reached the row over them: A <- (1-x) A + x S, x = manifold
// times reach, 0 where reach is nil, as clusters are what their means are. The confidence of a label is
// its part in (W A + A), and the unknown score (W h + h)/(degree + 1), h the distance to the nearest labelled
// row.
func (e *descent) doubt(labels []int32, reach []float32) doubts {
	k, d := e.k, e.points.d
	out := doubts{make([]float32, e.all), make([]int32, e.all), make([]float32, e.all)}
	most := float32(manifold(e.n, k))
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
				own, x := e.s[p*k:p*k+k], float32(0)
				if reach != nil {
					x = most * reach[p]
				}
				kernel.Scale(x, own)
				kernel.Axpy(1-x, scores[(p-from)*k:(p-from+1)*k], own)
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

// outside is the answer for a row of the support that was held out, and its S: the descent passes it over, as
// it is none of the file's.
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
	kernel.Softmax(scores)
	copy(e.s[p*e.k:], scores)
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

// A calibration rests on at least so many labelled rows, answered as if they were not labelled, from at most
// so many folds: each is a solve without its rows.
const (
	enoughHeldOut = 20
	mostFolds     = 4
)

// ordered is the coherence from which the order of the file counts for its answers.
const ordered = .1

// folds are disjoint sets of labelled rows to hold out, enough of them for a calibration: of each class that
// has two or more a quarter or one, spread over the class. They are nil where there are too few.
func (l *loaded) folds(seed uint64) [][]int32 {
	rows := make([][]int32, l.k)
	for p, y := range l.class {
		if y >= 0 {
			rows[y] = append(rows[y], int32(p))
		}
	}
	var folds [][]int32
	for fold, held := 0, 0; held < enoughHeldOut; fold++ {
		if fold == mostFolds {
			return nil
		}
		var of []int32
		for y, labelled := range rows {
			n := len(labelled)
			if n < 2 || fold >= n {
				continue
			}
			count := max(1, n/mostFolds)
			for i := range count {
				of = append(of, labelled[(int(seed%1024)+y+fold+i*n/count)%n])
			}
		}
		folds, held = append(folds, of), held+len(of)
	}
	return folds
}

// calibrate labels the file again without some of its labelled rows, and fits confidence and the limit of the
// unknown score to what it says of them. The limit is a quantile of where their scores stand among those of
// the file: with fewer labels all scores are higher.
func (l *loaded) calibrate(ctx context.Context, lists *index.Neighbours, similar similarity, s *Settings,
	r *Result,
) error {
	folds := l.folds(s.Seed)
	outside, all := 0, 0
	for _, held := range folds {
		for _, p := range held {
			if all++; int(p) >= l.n {
				outside++
			}
		}
	}
	scores := l.unlabelled(r.UnknownScore)
	if len(scores) == 0 { // every row is labelled
		r.UnknownLimit = math.Inf(1)
		return nil
	}
	// Where order helps the rows of the file, what is said of rows that have no place in it says too little of
	// them.
	if folds == nil || r.Coherence > ordered && 2*outside > all {
		r.UnknownLimit = vector.Quantile(scores, 1-s.UnknownRate)
		return nil
	}
	var right []bool
	var z, stands []float32
	for fold, held := range folds {
		stage := fmt.Sprintf("calibrating %d of %d: ", fold+1, len(folds))
		labels, own, err := l.without(ctx, held, lists, similar, s, r.Coherence, stage)
		if err != nil {
			return err
		}
		among := l.unlabelled(own.unknown[:l.n])
		for _, p := range held {
			below, _ := slices.BinarySearch(among, own.unknown[p])
			right, z = append(right, labels[p] == l.class[p]), append(z, own.confidence[p])
			stands = append(stands, float32(below)/float32(max(1, len(among))))
		}
	}
	slope, offset := logistic.Fit(len(z), func(i int) (float64, bool) { return logit(z[i]), right[i] }, 2, 50)
	for p := range r.Confidence {
		if l.class[p] < 0 {
			r.Confidence[p] = float32(logistic.Sigmoid(slope*logit(r.Confidence[p]) + offset))
		}
	}
	slices.Sort(stands)
	r.UnknownLimit, r.Calibrated = vector.Quantile(scores, vector.Quantile(stands, 1-s.UnknownRate)), true
	return nil
}

// unlabelled are the scores of the unlabelled rows of the file, ascending.
func (l *loaded) unlabelled(scores []float32) []float32 {
	var out []float32
	for p, v := range scores {
		if l.class[p] < 0 {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// without solves the file as if some of its labelled rows had no label.
func (l *loaded) without(ctx context.Context, held []int32, lists *index.Neighbours, similar similarity,
	s *Settings, c float64, stage string,
) ([]int32, doubts, error) {
	class := slices.Clone(l.class)
	for _, p := range held {
		class[p] = -1
	}
	constants := l.labelling(s)
	told := s.progress(stage + "spreading labels")
	answer, reach, err := l.spreadLabels(ctx, similar, class, constants, told)
	if err != nil {
		return nil, doubts{}, err
	}
	e := newDescent(l, class, l.affinity(lists, class, constants.Rho, c), c, constants, answer)
	if err := e.run(ctx, false, s.progress(stage+"solving"), nil); err != nil {
		return nil, doubts{}, err
	}
	labels := largest(e.s, l.k)
	for _, p := range held {
		if int(p) >= l.n {
			labels[p] = e.outside(int(p))
		}
	}
	return labels, e.doubt(labels, reach), nil
}

func logit(z float32) float64 { return logistic.Logit(float64(z), 1e-4) }
