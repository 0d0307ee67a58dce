package file

import (
	"context"
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
)

// Text and image encoders are trained together by softmax(100 cos). A probability below e^-10 counts as
// e^-10.
const (
	inverseTemperature  = 100
	leastLogProbability = -10
)

// zeroShot holds the class vectors' evidence for each row: the logarithm of softmax(100 cos) over the classes.
type zeroShot struct {
	unit   vector.Matrix // class vectors of length 1
	values []float32     // rows x classes
	made   int           // of the labelled rows, the last, made from class vectors
}

func (p *Problem) newZeroShot() (*zeroShot, error) {
	if p.ClassVectors.N == 0 {
		return nil, nil
	}
	v := &zeroShot{unit: vector.New(p.K, p.D), values: make([]float32, (p.N+p.Support.N)*p.K), made: p.made}
	for c := range p.K {
		if !vector.Unit(v.unit.Row(c), p.ClassVectors.Row(c)) {
			return nil, fmt.Errorf("class vector %d: its values are not finite or all zero", c)
		}
	}
	return v, nil
}

// read notes the evidence for a raw row. A row without a direction has none.
func (v *zeroShot) read(i int, row []float32) {
	if v == nil {
		return
	}
	k := v.unit.N
	out := v.values[i*k : i*k+k]
	length := math.Sqrt(float64(kernel.Dot(row, row)))
	if length == 0 || math.IsInf(length, 0) {
		return
	}
	kernel.Products(out, row, v.unit.Values, 1, k, v.unit.D)
	kernel.Scale(float32(inverseTemperature/length), out)
	total := logSumExp(out)
	for c := range out {
		out[c] = max(out[c]-total, leastLogProbability)
	}
}

// mostLeftOut bounds the labelled rows by which class vectors are weighed.
const mostLeftOut = 2000

// weighVectors gives the class vectors' evidence the weight which makes the labels of the labelled rows most likely, each
// row left out of the mean of its class, with a normal prior of mean and deviation 1/ws. A row without another one of its
// class is judged by the vectors alone. By the prior it weighs less than a labelled row, which neighbours and class repeat.
func (l *loaded) weighVectors(settings solver.Settings) {
	k, d := l.k, l.points.D
	class := l.class[:l.all-l.zeroShot.made]
	sums, count := classSums(&l.points, class, k)
	scratch := l.points.Scratch(1)
	var labelled []int32
	for p, y := range class {
		if y >= 0 {
			labelled = append(labelled, int32(p))
		}
	}
	cases := &logistic.Choices{Weights: 1}
	mean := make([]float32, d)
	for at := 0; at < len(labelled); at += max(1, len(labelled)/mostLeftOut) {
		p, scores := int(labelled[at]), make([]float32, k)
		row := l.points.Rows(p, p+1, scratch)
		for c, n := range count {
			if count[class[p]] == 1 {
				break
			}
			copy(mean, sums.Row(c))
			if int32(c) == class[p] {
				kernel.Axpy(-1, row, mean)
				n--
			}
			if squared := float64(kernel.Dot(mean, mean)) / float64(n*n); n > 0 && squared > 0 {
				by, psi := solver.Pull(settings.Pull, squared)
				scores[c] = float32(settings.Tau * (2*by*float64(kernel.Dot(mean, row)/n) - psi))
			}
		}
		cases.Right = append(cases.Right, len(cases.Offsets)+int(class[p]))
		cases.Values = append(cases.Values, l.zeroShot.values[p*k:p*k+k]...)
		cases.Offsets = append(cases.Offsets, scores...)
		cases.Ends = append(cases.Ends, len(cases.Offsets))
	}
	ws := []float64{1 / settings.LabelWeight}
	weight := max(0, cases.Fit(ws, logistic.Normal(ws, ws))[0])
	kernel.Scale(float32(weight), l.zeroShot.values)
}

// withEveryClass returns the problem with a labelled row beside the file for each class that has none: its vector,
// moved by the distance of the mean row from the mean vector, as texts lie apart from their pictures.
func (p *Problem) withEveryClass(ctx context.Context) (*Problem, error) {
	if p.ClassVectors.N == 0 {
		return p, nil
	}
	if p.ClassVectors.N != p.K || p.ClassVectors.D != p.D {
		return nil, fmt.Errorf("class vectors: %d of %d numbers, not %d of %d",
			p.ClassVectors.N, p.ClassVectors.D, p.K, p.D)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	has, missing := make([]bool, p.K), p.K
	mark := func(c int32) {
		if c >= 0 && !has[c] {
			has[c] = true
			missing--
		}
	}
	for _, c := range p.SupportClasses {
		mark(c)
	}
	if missing == 0 {
		return p, nil
	}
	mean, row := make([]float32, p.D), make([]float32, p.D)
	if err := p.each(ctx, func(_ int, raw []float32, class int32) error {
		mark(class)
		if vector.Unit(row, raw) {
			kernel.Axpy(1/float32(p.N), row, mean)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for c := range p.K {
		vector.Unit(row, p.ClassVectors.Row(c))
		kernel.Axpy(-1/float32(p.K), row, mean)
	}
	out := *p
	out.Support = vector.Rows(append([]float32(nil), p.Support.Values...), p.D)
	out.SupportClasses = append([]int32(nil), p.SupportClasses...)
	for c := range p.K {
		if has[c] {
			continue
		}
		vector.Unit(row, p.ClassVectors.Row(c))
		kernel.Axpy(1, mean, row)
		out.Support = vector.Rows(append(out.Support.Values, row...), p.D)
		out.SupportClasses = append(out.SupportClasses, int32(c))
		out.made++
	}
	return &out, nil
}
