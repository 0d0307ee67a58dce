package file

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/internal/vector"
)

// A calibration needs at least enoughHeldOut labelled rows that are solved without their labels, from at most
// mostFolds folds: the default unknown rate leaves one in twenty above the limit, less than one of fewer. A
// fold is one such solve, of at most mostHeldOut rows or one a class.
const (
	enoughHeldOut = 20
	mostFolds     = 4
	mostHeldOut   = 1000
)

// calibration solves labelled rows without their labels. Rows are numbered as in loaded: the file's rows,
// then the support's.
type calibration struct {
	problem *Problem
	s       *Settings
	class   []int32 // of each row, -1 for none
	like    *regime // of the whole file
}

// folds returns disjoint sets of labelled rows to hold out, together enough for a calibration; nil if there
// are too few. Of each class with two or more labelled rows a fold takes a quarter, at least one, spread
// over the class.
func (c *calibration) folds() [][]int32 {
	rows := make([][]int32, c.problem.K)
	for p, y := range c.class {
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
			count := max(1, min(n/mostFolds, mostHeldOut/len(rows)))
			for i := range count {
				of = append(of, labelled[(int(c.s.Seed%1024)+y+fold+i*n/count)%n])
			}
		}
		folds, held = append(folds, of), held+len(of)
	}
	return folds
}

// fit solves labelled rows without their labels, and fits confidence and the limit of the unknown score to
// the results. The limit is a quantile of the ranks of their scores among those of the file, not of the
// scores themselves: with fewer labels all scores are higher.
func (c *calibration) fit(ctx context.Context, r *Result) error {
	scores := unlabelled(r.UnknownScore, c.class)
	if len(scores) == 0 { // every row is labelled
		r.UnknownLimit = math.Inf(1)
		return nil
	}
	var folds [][]int32
	if !c.s.Uncalibrated {
		folds = c.folds()
	}
	if folds == nil {
		r.UnknownLimit = vector.Quantile(scores, 1-c.s.UnknownRate)
		return nil
	}
	var right []bool
	var z, stands []float32
	for fold, held := range folds {
		stage := fmt.Sprintf("calibrating %d of %d: ", fold+1, len(folds))
		own, labels, err := c.without(ctx, held, stage)
		if err != nil {
			return err
		}
		for i, p := range held {
			right, z = append(right, labels[i] == c.class[p]), append(z, own.confidence[i])
			stands = append(stands, own.unknown[i])
		}
	}
	slope, offset := logistic.Fit(len(z), func(i int) (float64, bool) { return logit(z[i]), right[i] })
	for p := range r.Confidence {
		if c.class[p] < 0 {
			r.Confidence[p] = float32(logistic.Sigmoid(slope*logit(r.Confidence[p]) + offset))
		}
	}
	slices.Sort(stands)
	r.UnknownLimit, r.Calibrated = vector.Quantile(scores, vector.Quantile(stands, 1-c.s.UnknownRate)), true
	return nil
}

// unlabelled returns the scores of the rows without a label, ascending.
func unlabelled(scores []float32, class []int32) []float32 {
	var out []float32
	for p, v := range scores {
		if class[p] < 0 {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

// doubts are the confidence and the unknown score of some rows.
type doubts struct{ confidence, unknown []float32 }

// without solves the held rows from raw rows, without their labels, so that mean, metric and graph do not
// depend on these. It solves some of a large file's stretches and labelled rows, and the support. It
// returns the labels and confidence of the held rows, and as unknown score the rank, 0 to 1, among the
// sample's unlabelled rows.
func (c *calibration) without(ctx context.Context, held []int32, stage string,
) (doubts, []int32, error) {
	p := c.problem
	isHeld := make([]bool, len(c.class))
	for _, i := range held {
		isHeld[i] = true
	}
	every := max(1, p.N/sampleRows)
	taken, at := make([]bool, p.N), make([]int32, len(c.class)) // at: number of a row in the sample
	sample := &Problem{
		D: p.D, K: p.K, Support: vector.Matrix{D: p.D}, ClassVectors: p.ClassVectors, made: p.made,
	}
	// most: labelled rows of a class beside those of the stretches
	most, kept := max(1, p.N/every/p.K), make([]int, p.K)
	for i := range p.N {
		taken[i] = isHeld[i] || i/stretch%every == 0
		if y := c.class[i]; y >= 0 && !taken[i] && kept[y] < most {
			kept[y]++
			taken[i] = true
		}
		if taken[i] {
			at[i] = int32(sample.N)
			sample.N++
		}
	}
	var moved []int // held rows of the support
	for i := range p.Support.N {
		if isHeld[p.N+i] {
			at[p.N+i] = int32(sample.N + len(moved))
			moved = append(moved, i)
			continue
		}
		sample.Support = vector.Rows(append(sample.Support.Values, p.Support.Row(i)...), p.D)
		sample.SupportClasses = append(sample.SupportClasses, p.SupportClasses[i])
	}
	sample.N += len(moved)
	sample.Read = func(use func([]float32, int32) error) error {
		i := 0
		err := p.Read(func(row []float32, class int32) error {
			i++
			if i > p.N || !taken[i-1] {
				return nil
			}
			if isHeld[i-1] {
				class = -1
			}
			return use(row, class)
		})
		for _, i := range moved {
			if err != nil {
				break
			}
			err = use(p.Support.Row(i), -1)
		}
		return err
	}
	s := *c.s
	s.Plan, s.Check = nil, false
	if c.s.Progress != nil {
		s.Progress = func(of string, done, total int64) { c.s.Progress(stage+of, done, total) }
	}
	r, class, err := solveAs(ctx, sample, &s, c.like)
	if err != nil {
		return doubts{}, nil, err
	}
	among := unlabelled(r.UnknownScore, class)
	out, labels := doubts{}, []int32{}
	for _, i := range held {
		j := at[i]
		below, _ := slices.BinarySearch(among, r.UnknownScore[j])
		labels, out.confidence = append(labels, r.Labels[j]), append(out.confidence, r.Confidence[j])
		out.unknown = append(out.unknown, float32(below)/float32(max(1, len(among))))
	}
	return out, labels, nil
}

func logit(z float32) float64 { return logistic.Logit(float64(z)) }
