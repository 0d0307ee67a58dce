package file

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/internal/vector"
)

// A trial solves labelled rows without their labels. A way is chosen and confidence calibrated by at least enoughHeldOut
// such rows: the default unknown rate leaves one in twenty above the limit, less than one of fewer. They are held out in
// at most mostFolds trials of at most mostHeldOut rows or one a class each, until sufficient are held out.
const (
	enoughHeldOut = 20
	sufficient    = 100
	mostFolds     = 4
	mostHeldOut   = 1000
)

// trials choose how a file is solved. Rows are numbered as in loaded: the file's rows, then the support's.
type trials struct {
	problem *Problem
	s       *Settings
	class   []int32 // of each row, -1 for none
}

// fold is what a trial hides: the labels of the held rows. given is what the others have.
type fold struct{ held, given []int32 }

// folds returns disjoint sets of labelled rows to hold out, or one that holds out none if there are too few or none is to be. Of each
// class with two or more labelled rows a fold takes a quarter, at least one, spread over the class.
func (t *trials) folds() []fold {
	rows := make([][]int32, t.problem.K)
	for p, y := range t.class[:len(t.class)-t.problem.made] {
		if y >= 0 {
			rows[y] = append(rows[y], int32(p))
		}
	}
	var folds []fold
	held, enough := 0, sufficient
	if t.large() {
		enough = enoughHeldOut
	}
	for n := 0; n < mostFolds && held < enough; n++ {
		of := fold{given: slices.Clone(t.class)}
		for _, labelled := range rows {
			all := len(labelled)
			if all < 2 || n >= all {
				continue
			}
			count := max(1, min(all/mostFolds, mostHeldOut/len(rows)))
			for i := range count {
				of.held = append(of.held, labelled[(int(t.s.Seed%1024)+int(labelled[0])+n+i*all/count)%all])
			}
		}
		for _, p := range of.held {
			of.given[p] = -1
		}
		folds, held = append(folds, of), held+len(of.held)
	}
	if held < enoughHeldOut || t.s.Uncalibrated {
		return []fold{{given: t.class}}
	}
	return folds
}

// large reports whether trials take long: fewer rows are held out then, and only ways like the first are tried.
func (t *trials) large() bool { return t.problem.N > sampleRows }

// outcome is what became of held rows in one way.
type outcome struct {
	right          []bool
	moment         []int32   // rows of one stretch are one moment
	confidence, at []float32 // at: rank of the unknown score, 0 to 1, among those of unlabelled rows
}

// lead returns by how much more of the held rows are right than in the other outcome, and the standard error of that: rows
// of one moment are right or wrong together.
func (a *outcome) lead(b *outcome) (lead, err float64) {
	n, number := float64(len(a.right)), map[bool]float64{true: 1}
	for i, right := range a.right {
		lead += (number[right] - number[b.right[i]]) / n
	}
	var sums []float64 // of each moment, in the order of their first rows
	of := map[int32]int{}
	for i, m := range a.moment {
		if _, ok := of[m]; !ok {
			of[m], sums = len(sums), append(sums, 0)
		}
		sums[of[m]] += number[a.right[i]] - number[b.right[i]] - lead
	}
	for _, sum := range sums {
		err += sum * sum / n / n
	}
	return lead, math.Sqrt(err)
}

// manyRows is the number of rows a class from which on a class may be rows that lie side by side in few directions. A
// file of as many is compared with the other ways from there, and solved so without rows to compare by, unless most of
// what is near a row stands beside it.
const manyRows = 300

// choose returns the way in which most of the held rows are right, and what became of them. A way that is not better
// than the first by half a standard error is not taken. Without enough labelled rows to hold out the first is taken, and
// there is no outcome.
func (t *trials) choose(ctx context.Context) (way, *outcome, error) {
	p, labelled := t.problem, len(t.problem.SupportClasses)
	t.class = append(slices.Repeat([]int32{-1}, p.N), p.SupportClasses...)
	err := p.each(ctx, func(i int, _ []float32, class int32) error {
		if t.class[i] = class; class >= 0 {
			labelled++
		}
		return nil
	})
	folds, many := t.folds(), p.K > 0 && p.N >= manyRows*p.K
	if err == nil && labelled == 0 && many {
		return inDirection, nil, nil
	}
	if err != nil || labelled == 0 || p.K < 2 || labelled == len(t.class) || len(folds[0].held) == 0 && !many {
		return byMeans, nil, err
	}
	ways := append(slices.Clone(asGiven), inDirection)
	last := len(ways) - 1
	// beside: share of what is near a row that stands beside it; absent: that rows of the support lack when held out,
	// as they stand nowhere in the file
	outcomes, beside, absent := make([]outcome, len(ways)), 0., 0.
	for n, f := range folds {
		stage := fmt.Sprintf("trial %d of %d: ", n+1, len(folds))
		if many || !t.large() {
			r, err := t.hold(ctx, &f, outcomes[last:], stage, inDirection)
			if err != nil {
				return way{}, nil, err
			}
			if n == 0 { // all trials of a file try the same ways
				beside = r[0].Coherence * r[0].Coherence
			}
		}
		if len(f.held) == 0 || many && beside < .5 && t.large() {
			continue
		}
		if int(slices.Max(f.held)) >= p.N {
			absent = beside
		}
		if _, err := t.hold(ctx, &f, outcomes[:last], stage, asGiven...); err != nil {
			return way{}, nil, err
		}
	}
	first := 0
	if many && beside < .5 {
		first = last
	}
	if len(outcomes[first].right) == 0 {
		return ways[first], nil, nil
	}
	best, most := first, 0.
	for i, of := range ways {
		if len(outcomes[i].right) < len(outcomes[first].right) { // not tried
			continue
		}
		lead, err := outcomes[i].lead(&outcomes[first])
		switch { // the order may add so much to the answers by whole rows
		case of.directions && first != last:
			lead -= absent
		case !of.directions && first == last:
			lead += absent
		}
		if lead > max(err/2, most) {
			best, most = i, lead
		}
	}
	return ways[best], &outcomes[best], nil
}

// fit fits confidence and the limit of the unknown score to what became of held rows. The limit is a quantile of the
// ranks of their scores among those of the file, not of the scores themselves: with fewer labels all scores are higher.
func (t *trials) fit(of *outcome, r *Result) {
	scores := unlabelled(r.UnknownScore, t.class)
	switch {
	case len(scores) == 0: // every row is labelled
		r.UnknownLimit = math.Inf(1)
		return
	case of == nil:
		r.UnknownLimit = vector.Quantile(scores, 1-t.s.UnknownRate)
		return
	}
	slope, offset := logistic.Fit(len(of.right), func(i int) (float64, bool) {
		return logit(of.confidence[i]), of.right[i]
	})
	for p := range r.Confidence {
		if t.class[p] < 0 {
			r.Confidence[p] = float32(logistic.Sigmoid(slope*logit(r.Confidence[p]) + offset))
		}
	}
	slices.Sort(of.at)
	r.UnknownLimit, r.Calibrated = vector.Quantile(scores, vector.Quantile(of.at, 1-t.s.UnknownRate)), true
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

// hold solves a fold in each of the ways, and adds what became of its held rows to the way's outcome.
func (t *trials) hold(ctx context.Context, f *fold, outcomes []outcome, stage string, ways ...way) ([]*Result, error) {
	sample, at := t.sample(f)
	s := *t.s
	s.Plan, s.Check = nil, false
	if t.s.Progress != nil {
		s.Progress = func(of string, done, total int64) { t.s.Progress(stage+of, done, total) }
	}
	plan, err := sample.plan(s.Memory)
	if err != nil {
		return nil, err
	}
	solved, err := solveAs(ctx, sample, &s, plan, ways...)
	if err != nil {
		return nil, err
	}
	var among []float32
	for p, j := range at {
		if j >= 0 && f.given[p] < 0 {
			among = append(among, solved[0].UnknownScore[j])
		}
	}
	slices.Sort(among)
	for i, r := range solved {
		own := &outcomes[i]
		for _, p := range f.held {
			below, _ := slices.BinarySearch(among, r.UnknownScore[at[p]])
			own.right = append(own.right, r.Labels[at[p]] == t.class[p])
			own.confidence = append(own.confidence, r.Confidence[at[p]])
			own.at = append(own.at, float32(below)/float32(max(1, len(among))))
			moment := p / stretch
			if int(p) >= t.problem.N { // a row of the support stands for itself
				moment = p
			}
			own.moment = append(own.moment, moment)
		}
	}
	return solved, nil
}

// sample returns what a fold solves, from raw rows, so that mean, metric and graph do not depend on hidden labels:
// some of a large file's stretches, its held and labelled rows, and the support. at is the number of each row in it,
// -1 for none.
func (t *trials) sample(f *fold) (sample *Problem, at []int32) {
	p := t.problem
	every := max(1, p.N/sampleRows)
	sample = &Problem{
		D: p.D, K: p.K, Support: vector.Matrix{D: p.D}, ClassVectors: p.ClassVectors, made: p.made,
	}
	isHeld := make([]bool, len(t.class))
	for _, i := range f.held {
		isHeld[i] = true
	}
	at = slices.Repeat([]int32{-1}, len(t.class))
	// most: labelled rows of a class beside those of the stretches
	most, kept := max(1, p.N/every/p.K), make([]int, p.K)
	for i := range p.N {
		taken := isHeld[i] || i/stretch%every == 0
		if y := f.given[i]; y >= 0 && !taken && kept[y] < most {
			kept[y]++
			taken = true
		}
		if taken {
			at[i] = int32(sample.N)
			sample.N++
		}
	}
	var moved []int // rows of the support that have no label here
	for i := range p.Support.N {
		y := f.given[p.N+i]
		if y < 0 {
			at[p.N+i] = int32(sample.N + len(moved))
			moved = append(moved, i)
			continue
		}
		sample.Support = vector.Rows(append(sample.Support.Values, p.Support.Row(i)...), p.D)
		sample.SupportClasses = append(sample.SupportClasses, y)
	}
	sample.N += len(moved)
	sample.Read = func(use func([]float32, int32) error) error {
		i := 0
		err := p.Read(func(row []float32, _ int32) error {
			i++
			if i > p.N || at[i-1] < 0 {
				return nil
			}
			return use(row, f.given[i-1])
		})
		for _, i := range moved {
			if err == nil {
				err = use(p.Support.Row(i), -1)
			}
		}
		return err
	}
	return sample, at
}

func logit(z float32) float64 { return logistic.Logit(float64(z)) }
