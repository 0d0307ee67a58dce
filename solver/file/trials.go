package file

import (
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/vector"
)

// A trial solves labelled rows without their labels. By at least enoughHeldOut such rows the ways of solving a file are
// weighed and confidence is fitted: the default unknown rate leaves one in twenty above the limit, less than one of
// fewer. They are held out in at most mostFolds trials of at most mostHeldOut rows or one a class each, until sufficient
// are held out.
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
type fold struct {
	held, given []int32
	near        *index.Neighbours // of its rows whole; nil: not known
}

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

// large reports whether a solve takes long: fewer rows are held out then, and one space counts.
func (t *trials) large() bool { return t.problem.N > sampleRows }

// heldRow is what became of a held row: its class, and what each answer says.
type heldRow struct {
	truth  int32
	class  []int32
	sure   []float32
	placed bool // it stands in the file as rows to be answered do: not a row of the support where the file's order counts
}

// outcome is what became of held rows. at is the rank of a row's unknown score, 0 to 1, among those of unlabelled rows.
type outcome struct {
	rows    []heldRow
	at      []float32
	weights []float64 // of the answers, before held rows say more
}

// read notes the class of each row, and returns how many are labelled.
func (t *trials) read(ctx context.Context) (labelled int, err error) {
	p := t.problem
	t.class = append(slices.Repeat([]int32{-1}, p.N), p.SupportClasses...)
	err = p.each(ctx, func(i int, _ []float32, class int32) error {
		t.class[i] = class
		return nil
	})
	for _, y := range t.class {
		if y >= 0 {
			labelled++
		}
	}
	return labelled, err
}

// judge says in which spaces a file is solved, and what the answers weigh, by what became of held rows. A large file is
// solved in one space: in directions, which takes half the time, if the held rows' classes are not more likely whole,
// which is tried only where it could be beyond chance. Where too few rows are labelled to hold any out, as with one of each
// class, all answers weigh the same, and a large file is solved whole; but if clusters in directions that were found without
// labels are the classes of the labelled rows, what descends from these clusters counts alone.
func (t *trials) judge(ctx context.Context) (*calibration, error) {
	p := t.problem
	if p.K < 2 || !slices.Contains(t.class, -1) {
		return t.without(whole), nil
	}
	folds := t.folds()
	held := len(folds[0].held) > 0
	switch {
	case p.ClassVectors.N > 0 && !held: // which have all directions
		return t.without(whole), nil
	case !held && !t.large():
		return t.without(whole, directions), nil
	case !held:
		if _, matched, err := t.hold(ctx, &folds[0], "trial: ", directions); err != nil || matched {
			return t.without(directions), err
		}
		return t.without(whole), nil
	case !t.large():
		v, _, err := t.weigh(ctx, folds, whole, directions)
		return v, err
	}
	v, losses, err := t.weigh(ctx, folds, directions)
	if err != nil || !beyond(make([]float64, len(losses)), losses) {
		return v, err
	}
	other, less, err := t.weigh(ctx, folds, whole)
	if err != nil || beyond(less, losses) {
		return other, err
	}
	return v, nil
}

// without returns the calibration without held rows.
func (t *trials) without(spaces ...space) *calibration {
	return &calibration{spaces: spaces, classes: t.problem.K, rate: t.s.UnknownRate}
}

// weigh fits the weights of the answers in the spaces to the held rows of folds, and returns minus the logarithm of how
// likely the class of each held row is then.
func (t *trials) weigh(ctx context.Context, folds []fold, spaces ...space) (v *calibration, losses []float64, err error) {
	v = t.without(spaces...)
	var rows []heldRow
	var of outcome
	for n := range folds {
		if of, _, err = t.hold(ctx, &folds[n], fmt.Sprintf("trial %d of %d%s: ", n+1, len(folds), spaces[0]), spaces...); err != nil {
			return nil, nil, err
		}
		rows, v.at = append(rows, of.rows...), append(v.at, of.at...)
	}
	for _, row := range rows {
		v.of = append(v.of, row.truth)
	}
	v.weights, losses = fit(rows, of.weights, v.classes)
	return v, losses, nil
}

// hold solves a fold in some spaces, and says whether clusters are the classes there.
func (t *trials) hold(ctx context.Context, f *fold, stage string, spaces ...space) (out outcome, matched bool, err error) {
	sample, at := t.sample(f)
	s := *t.s
	s.Plan, s.Check, s.trial = nil, false, f
	if t.s.Progress != nil {
		s.Progress = func(of string, done, total int64) { t.s.Progress(stage+of, done, total) }
	}
	plan, err := sample.plan(s.Memory)
	if err != nil {
		return out, false, err
	}
	solved, err := solveIn(ctx, sample, &s, plan, spaces...)
	if err != nil {
		return out, false, err
	}
	scores := solved.result.UnknownScore
	var among []float32
	for p, j := range at {
		if j >= 0 && f.given[p] < 0 {
			among = append(among, scores[j])
		}
	}
	slices.Sort(among)
	out.weights = solved.weights(true)
	for _, p := range f.held {
		below, _ := slices.BinarySearch(among, scores[at[p]])
		row := heldRow{truth: t.class[p], placed: int(p) < t.problem.N || solved.result.Coherence == 0}
		for _, of := range solved.answers {
			row.class, row.sure = append(row.class, of.class[at[p]]), append(row.sure, of.sure[at[p]])
		}
		out.rows, out.at = append(out.rows, row), append(out.at, float32(below)/float32(max(1, len(among))))
	}
	return out, solved.matched, nil
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
