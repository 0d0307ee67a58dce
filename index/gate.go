package index

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
)

// DefaultRecallFloor is the recall below which an approximate search is not good enough.
const DefaultRecallFloor = .95

// The gate checks so many rows that it compares this share of the pairs that the search itself compared, which keeps it
// below a fiftieth of the time: its tiles are the most efficient of all.
const (
	gateShare = .03
	gateMost  = block
	gateLeast = 16
)

// approximate runs a search and lets its answer pass only with a recall above the floor: measured on a sample of rows that
// are searched exactly. Below it the answer is refined once, then given up for the exact one.
func (w *Workspace) approximate(ctx context.Context, method string, search func(context.Context, Options) error, o Options) error {
	floor := o.RecallFloor
	if floor == 0 {
		floor = DefaultRecallFloor
	}
	if err := search(ctx, o); err != nil {
		return err
	}
	var first float64
	for attempt := range uint64(2) {
		if attempt > 0 {
			first = w.result.Report.Recall
			o.Seed++
			if err := w.refine(ctx, o); err != nil {
				return err
			}
		}
		if err := w.rank(ctx, o); err != nil {
			return err
		}
		recall, sample, err := w.gate(ctx, o)
		if err != nil {
			return err
		}
		w.result.Report = Report{Chosen: method, Recall: recall, Sample: sample}
		if recall >= floor {
			return nil
		}
	}
	warning := fmt.Sprintf("%s found %.3f of the true neighbours, and %.3f when refined, below the floor of %g: solved exactly", method, first, w.result.Report.Recall, floor)
	slog.Warn("index: "+warning, "rows", w.points.n, "dimension", w.points.d)
	if err := w.exact(ctx, o); err != nil {
		return err
	}
	w.result.Report.Warning = warning
	return nil
}

// gate measures the recall of the answer on a random sample of rows, counted by distance.
func (w *Workspace) gate(ctx context.Context, o Options) (recall float64, sample int, err error) {
	p := &w.points
	var pairs int64
	for _, worker := range w.workers {
		pairs += worker.pairs
	}
	sample = min(max(int(gateShare*float64(pairs)/float64(p.n)), gateLeast), gateMost, p.n)
	random := rand.New(rand.NewPCG(o.Seed, 0x6a7e))
	rows := make([]int32, 0, sample)
	for i := range p.n { // each row with the chance that leaves sample of them
		if random.IntN(p.n-i) < sample-len(rows) {
			rows = append(rows, int32(i))
		}
	}
	truth, err := w.nearestTo(ctx, o, rows)
	if err != nil {
		return 0, 0, err
	}
	found, there := 0, 0
	for r, row := range rows {
		right, _ := truth.Row(r)
		limit := 0.
		for _, id := range right {
			if id >= 0 {
				limit = max(limit, p.squared(row, id))
				there++
			}
		}
		ids, _ := w.result.Row(int(row))
		for _, id := range ids {
			if id >= 0 && p.squared(row, id) <= limit*(1+1e-6) {
				found++
			}
		}
	}
	return float64(found) / float64(there), sample, nil
}

// nearestTo finds the true neighbours of at most block rows.
func (w *Workspace) nearestTo(ctx context.Context, o Options, rows []int32) (*Neighbours, error) {
	p := &w.points
	var l shortlists
	l.reset(p, o.Rho, rows)
	own := make([]float32, len(rows)*p.d)
	for r, row := range rows {
		copy(own[r*p.d:], p.row(int(row)))
	}
	var writing sync.Mutex
	if err := parallel(ctx, o, "checking", int64((p.n+block-1)/block), func(number int, item int64) {
		w := w.workers[number]
		from := int(item) * block
		n := min(block, p.n-from)
		kernel.Products(w.products, own, p.rows[from*p.d:], len(rows), n, p.d)
		writing.Lock()
		defer writing.Unlock()
		for r := range rows {
			row := w.products[r*n : r*n+n]
			if l.limits[r] == infinity {
				l.bound(r, p.high[from:from+n], row, w.minima)
			}
			w.along(p, &l, r, from, row)
		}
	}); err != nil {
		return nil, err
	}
	truth := new(Neighbours)
	truth.reset(len(rows), o.Rho)
	for r := range rows {
		w.workers[0].verdict.settle(p, &l, r, truth)
	}
	return truth, nil
}
