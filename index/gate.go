package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
)

// DefaultRecallFloor is the recall that an approximate search must reach if Options.RecallFloor is 0.
const DefaultRecallFloor = .95

const (
	refinements = 4    // at most, before the search is exact
	falsePass   = 1e-3 // probability that an answer below the floor passes, over all attempts
	falseFail   = .05  // probability that one above the floor is refined needlessly, at each attempt
	sampleShare = 8    // at most one row in this many is checked, or block rows if these are more
)

// approximate runs a search and accepts its answer if its recall is above the floor, which is tested on a
// sample of rows that are searched exactly. An answer below it is refined, several times where that helps. If
// it still fails, it is replaced by the exact one, or kept where Options.Inexact is set.
func (w *Workspace) approximate(
	ctx context.Context,
	method string,
	search func(context.Context, Options) error,
	o Options,
) error {
	floor := o.RecallFloor
	if floor == 0 {
		floor = DefaultRecallFloor
	}
	n := w.points.n
	if most := max(block, n/sampleShare); newFloorTest(floor, 1+refinements).least() > float64(most) {
		return w.exactInstead(ctx, o, fmt.Sprintf("a floor of %g takes more rows to check than an exact search is worth", floor))
	}
	if err := search(ctx, o); err != nil {
		return err
	}
	var found []float64 // after each attempt
	for attempt := 0; ; attempt++ {
		if err := w.rank(ctx, o); err != nil {
			return err
		}
		recall, sample, passed, err := w.gate(ctx, o, floor)
		if err != nil {
			return err
		}
		w.result.Report = Report{Chosen: method, Recall: recall, Sample: sample, Floor: floor, Refined: attempt}
		if passed {
			return nil
		}
		found = append(found, recall)
		if attempt == refinements || (attempt >= 2 || o.Inexact && attempt == 1) && !w.worthRefining(found, floor) {
			break
		}
		o.Seed++ // other trees, and another sample
		if _, err := w.search(ctx, o); err != nil {
			return err
		}
	}
	reason := fmt.Sprintf(
		"%s found %.3f of the true neighbours, and %.3f when refined, not surely above the floor of %g",
		method,
		found[0],
		found[len(found)-1],
		floor,
	)
	if o.Inexact {
		w.result.Report.Warning, w.result.Report.Floor = reason, 0
		return nil
	}
	return w.exactInstead(ctx, o, reason)
}

// worthRefining reports whether one more attempt that helps as much as the last would reach the floor.
func (w *Workspace) worthRefining(found []float64, floor float64) bool {
	before, last := 1-found[len(found)-2], 1-found[len(found)-1]
	return last*last <= before*(1-floor)
}

// exactInstead is exact, with the reason for it in the report.
func (w *Workspace) exactInstead(ctx context.Context, o Options, reason string) error {
	if err := w.exact(ctx, o); err != nil {
		return err
	}
	w.result.Report.Warning = reason + ": solved exactly"
	return nil
}

// gate tests the recall of the answer, counted by distance, on rows drawn at random until the test decides.
// Undecided counts as failed.
func (w *Workspace) gate(ctx context.Context, o Options, floor float64) (recall float64, sample int, passed bool, err error) {
	p := &w.points
	test := newFloorTest(floor, 1+refinements)
	random := rand.New(rand.NewPCG(o.Seed, 0x6a7e))
	most := max(block, min(p.n/sampleShare, 8*block, int(4*test.least())))
	rows := make([]int32, block)
	for sample < most && test.undecided() {
		for i := range rows {
			rows[i] = int32(random.IntN(p.n)) // with replacement, as the test assumes
		}
		truth, err := w.nearestTo(ctx, o, rows)
		if err != nil {
			return 0, 0, false, err
		}
		for r, row := range rows {
			right, _ := truth.Row(r)
			ids, _ := w.result.Row(int(row))
			test.observe(w.share(row, right, ids))
		}
		sample += len(rows)
	}
	return test.mean(), sample, test.passed(), nil
}

// share returns the fraction of right, the true neighbours of a row, that the ids found have,
// counted by distance.
func (w *Workspace) share(row int32, right, ids []int32) float64 {
	p := &w.points
	limit, there := 0., 0
	for _, id := range right {
		if id >= 0 {
			limit = max(limit, p.squared(row, id))
			there++
		}
	}
	found := 0
	for _, id := range ids {
		if id >= 0 && id != row && p.squared(row, id) <= limit*(1+1e-6) {
			found++
		}
	}
	return float64(min(found, there)) / float64(max(there, 1))
}

// floorTest decides whether the mean of independent values between 0 and 1 is at least a floor. It bets: its
// capital, 1 at first, is multiplied for each value x by 1 + stake (x - floor), with a stake chosen before x
// is known. Where the mean is below the floor each bet loses in expectation, so that the capital ever reaches
// 1/risk with a probability of at most risk, however often one checks (Ville's inequality). A second bet, the
// other way round, decides when to stop.
type floorTest struct {
	floor                 float64
	passing               float64 // logarithm of the capital at which the test passes
	above, below          float64 // logarithms of the capital of either bet
	count, total, squares float64 // of the values so far; squares of their deviations from the mean before them
}

// newFloorTest returns a test for one of this many attempts, which share the risk that any of
// them passes wrongly.
func newFloorTest(floor float64, attempts int) *floorTest {
	return &floorTest{floor: floor, passing: math.Log(float64(attempts) / falsePass)}
}

// largestStake is the largest part of the capital that a bet may lose.
const largestStake = .9

// observe adds the next value.
func (t *floorTest) observe(x float64) {
	mean := (t.total + 1) / (t.count + 1) // the first bet assumes a perfect answer
	variance := (t.squares + .01) / (t.count + 1)
	gap := mean - t.floor
	stake := gap / (variance + gap*gap)
	t.above += math.Log1p(min(max(stake, 0), largestStake/t.floor) * (x - t.floor))
	t.below += math.Log1p(min(max(-stake, 0), largestStake/max(1-t.floor, 1e-9)) * (t.floor - x))
	t.count++
	t.total += x
	t.squares += (x - mean) * (x - mean)
}

// least returns the number of values that a pass takes if all of them are 1.
func (t *floorTest) least() float64 { return t.passing / math.Log1p(largestStake/t.floor*(1-t.floor)) }

func (t *floorTest) mean() float64   { return t.total / max(t.count, 1) }
func (t *floorTest) passed() bool    { return t.above >= t.passing }
func (t *floorTest) undecided() bool { return !t.passed() && t.below < -math.Log(falseFail) }

// nearestTo finds the true neighbours of at most block rows.
func (w *Workspace) nearestTo(ctx context.Context, o Options, rows []int32) (*Neighbours, error) {
	p := &w.points
	var l candidateLists
	l.reset(p, o.Rho, rows)
	own := make([]float32, len(rows)*p.d)
	for r, row := range rows {
		copy(own[r*p.d:], p.row(int(row)))
	}
	var writing sync.Mutex
	if err := eachSpan(ctx, o, "checking", p.n, block, func(number int, at span) {
		w, n := w.workers[number], at.to-at.from
		kernel.Products(w.products, own, p.rows[at.from*p.d:], len(rows), n, p.d)
		writing.Lock()
		defer writing.Unlock()
		for r := range rows {
			row := w.products[r*n : r*n+n]
			if l.limits[r] == infinity {
				l.bound(r, p.high[at.from:at.to], row, w.minima)
			}
			w.along(p, &l, r, at.from, row)
		}
	}); err != nil {
		return nil, err
	}
	truth := new(Neighbours)
	truth.reset(len(rows), o.Rho)
	for r := range rows {
		w.workers[0].ranker.rankExactly(p, &l, r, truth)
	}
	return truth, nil
}
