package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/index"
)

// blocked is a problem of points in bursts of a class, with a graph between adjacent rows and between rows
// of a class.
func blocked(n, d, k int, codes bool) (*Placed, []int32) {
	random := rand.New(rand.NewPCG(3, 3))
	x, centres := &Points{N: n, D: d, Values: make([]float32, n*d)}, make([]float32, k*d)
	for i := range centres {
		centres[i] = float32(random.NormFloat64())
	}
	p := &Placed{Points: x, K: k, Block: 50, Labels: make([]int32, n), Start: make([]int32, n)}
	p.Proportions = make([]float64, k)
	truth, class := make([]int32, n), 0
	for i := range n {
		if i%20 == 0 {
			class = random.IntN(k)
		}
		for j := range d {
			x.Values[i*d+j] = (centres[class*d+j] + float32(random.NormFloat64())) / 5
		}
		truth[i], p.Labels[i], p.Start[i] = int32(class), -1, int32(random.IntN(k))
		if i < 3*k { // a few labels hold each class in place
			truth[i] = int32(i % k)
			p.Labels[i] = truth[i]
			for j := range d {
				x.Values[i*d+j] = centres[i%k*d+j] / 5
			}
		}
		if random.IntN(2) == 0 {
			p.Start[i] = truth[i]
		}
		p.Proportions[p.Start[i]]++
	}
	near := make([][]int32, n)
	for i := range n - 1 {
		for _, q := range []int{i + 1, random.IntN(n)} {
			if q != i && (q == i+1 || truth[q] == truth[i]) {
				near[i], near[q] = append(near[i], int32(q)), append(near[q], int32(i))
			}
		}
	}
	p.Affinity = &index.Affinity{Offsets: []int64{0}}
	for _, columns := range near {
		slices.Sort(columns)
		for _, q := range slices.Compact(columns) {
			p.Affinity.Columns, p.Affinity.Weights = append(p.Affinity.Columns, q), append(p.Affinity.Weights, .8)
		}
		p.Affinity.Offsets = append(p.Affinity.Offsets, int64(len(p.Affinity.Columns)))
	}
	if codes {
		c := &Points{N: n, D: d, Codes: make([]int8, n*d), Step: 1. / 127}
		for i := range n {
			c.Write(i, x.Values[i*d:(i+1)*d])
		}
		p.Points = c
	}
	return p, truth
}

// With blocks, R is as documented, summed here in float64 from S and the prototypes; it never rises, and
// labelled rows keep their labels; for rows and for codes.
func TestBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		n, k  int
		codes bool
	}{"rows": {600, 5, false}, "codes": {600, 5, true}, "many": {4300, 70, true}} {
		t.Run(name, func(t *testing.T) {
			const d = 16
			p, truth := blocked(c.n, d, c.k, c.codes)
			solve, s := defaultSolver(t, func(s *Settings) { s.Check, s.Anneal = true, 0 })
			r, err := solve.SolvePlaced(context.Background(), p)
			if err != nil || r.Rises > 0 || len(r.Trace) < 3 {
				t.Fatalf("%v: R rose %d times: %v", err, r.Rises, r.Trace)
			}
			right := 0
			for i, y := range r.Labels {
				if y == truth[i] {
					right++
				}
				if p.Labels[i] >= 0 && y != p.Labels[i] {
					t.Errorf("labelled row %d has label %d", i, y)
				}
			}
			if right < c.n*9/10 {
				t.Errorf("%d of %d right", right, c.n)
			}
			soft := slices.Clone(r.episode.soft())
			if want := judgeBlocks(p, s, r, soft); math.Abs(want-r.ObjectiveAfter) > 1e-5*math.Abs(want) {
				t.Errorf("R is %g, the judge has %g", r.ObjectiveAfter, want)
			}
			labels := slices.Clone(r.Labels)
			confidence, second := r.Doubt(nil)
			for i, v := range confidence {
				if !(v >= 0 && v <= 1) || second[i] == labels[i] && v < .5 {
					t.Fatalf("row %d: confidence %g of %d, then %d", i, v, labels[i], second[i])
				}
			}
		})
	}
}

// judgeBlocks computes R with blocks from the formula at Placed.Block.
func judgeBlocks(p *Placed, s Settings, r *PlacedResult, soft []float32) (sum float64) {
	n, d, k := p.Points.N, p.Points.D, p.K
	row := func(i int) []float32 { return p.Points.Rows(i, i+1, make([]float32, d)) }
	cost := func(x []float32, c []float64) float64 {
		var square, dot, length float64
		for j, v := range x {
			square += float64(v) * float64(v)
			dot += float64(v) * c[j]
			length += c[j] * c[j]
		}
		u := s.Pull
		return s.Tau * (square - 2*dot + 2*(1-u)/(2-u)*math.Pow(length, (2-u)/(2-2*u)))
	}
	all := make([][]float64, k)
	for c := range all {
		for _, v := range r.episode.centres()[c*d : (c+1)*d] {
			all[c] = append(all[c], float64(v))
		}
	}
	pi, total := make([]float64, k), 0.
	for _, v := range p.Proportions {
		total += v
	}
	for c, v := range p.Proportions {
		pi[c] = v / total
	}
	for i := range n {
		if p.Labels[i] >= 0 {
			sum += s.LabelWeight * cost(row(i), all[p.Labels[i]])
		}
	}
	for from := 0; from < n; from += p.Block {
		to := min(n, from+p.Block)
		share, rows := make([]float64, k), 0.
		for i := from; i < to; i++ {
			if p.Labels[i] < 0 {
				for c, v := range soft[i*k : (i+1)*k] {
					share[c] += float64(v)
				}
				rows++
			}
		}
		for c := range share {
			share[c] = (share[c] + s.PriorCounts*pi[c]) / (rows + s.PriorCounts)
			sum -= s.Beta * s.PriorCounts * pi[c] * math.Log(share[c])
		}
		for i := from; i < to; i++ {
			if p.Labels[i] >= 0 {
				continue
			}
			columns, weights := p.Affinity.Row(i)
			for c, v := range soft[i*k : (i+1)*k] {
				if v == 0 {
					continue
				}
				near := 0.
				for j, q := range columns {
					if p.Labels[q] >= 0 {
						near += float64(weights[j]) * float64(soft[int(q)*k+c])
					} else {
						near += float64(weights[j]) * float64(soft[int(q)*k+c]) / 2
					}
				}
				sum += float64(v) * (cost(row(i), all[c]) + math.Log(float64(v)) - s.Lambda*near -
					s.Beta*math.Log(share[c]))
			}
		}
	}
	return sum
}

// Combinations that points and blocks do not support are errors.
func TestPointsAreChecked(t *testing.T) {
	for want, spoil := range map[string]func(p *Placed){
		"are not 599 rows": func(p *Placed) { p.Points.N-- },
		"their graph":      func(p *Placed) { p.Affinity = nil },
		"row 2: value NaN": func(p *Placed) { p.Points.Values[40] = float32(math.NaN()) },
		"block: fewer":     func(p *Placed) { p.Block = -1 },
		"has neither a labelled row nor": func(p *Placed) {
			p.K, p.Start[3], p.Proportions = 6, 5, nil
		},
	} {
		p, _ := blocked(600, 16, 5, false)
		spoil(p)
		solve, _ := defaultSolver(t, nil)
		if _, err := solve.SolvePlaced(context.Background(), p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
