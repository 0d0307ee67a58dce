package index

import (
	"context"
	"math/rand/v2"
	"testing"
)

// TestAFloorThatIsToldHolds draws answers whose recall is a little below the floor, with misses spread thinly
// or all in a few rows, and counts how often a test of one attempt passes them: at most one in a thousand.
// The draws are the same in every run.
func TestAFloorThatIsToldHolds(t *testing.T) {
	const trials, longest = 4_000, 960
	for name, miss := range map[string]func(*rand.Rand) float64{
		"rows that lack all or nothing": func(r *rand.Rand) float64 {
			if r.Float64() < .051 {
				return 1
			}
			return 0
		},
		"one of five here and there": func(r *rand.Rand) float64 {
			if r.Float64() < .255 {
				return .2
			}
			return 0
		},
		"a bit everywhere": func(*rand.Rand) float64 { return .0505 },
	} {
		random := rand.New(rand.NewPCG(1, 2))
		wrong := 0
		for range trials {
			test := newFloorTest(.95, 1)
			for range longest {
				if test.observe(1 - miss(random)); !test.undecided() {
					break
				}
			}
			if test.passed() {
				wrong++
			}
		}
		if wrong*1000 > trials {
			t.Errorf("%s: %d of %d answers below the floor pass", name, wrong, trials)
		}
	}
}

// TestGoodAnswersPassSoon: an answer well above the floor takes one block of rows.
func TestGoodAnswersPassSoon(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	late := 0
	for range 1000 {
		test := newFloorTest(DefaultRecallFloor, 1+refinements)
		for range block {
			x := 1.
			for range 5 {
				if random.Float64() < .004 {
					x -= .2
				}
			}
			test.observe(x)
		}
		if !test.passed() {
			late++
		}
	}
	if late > 20 {
		t.Errorf("%d of 1000 answers of recall .996 need more than %d rows", late, block)
	}
	if least := newFloorTest(DefaultRecallFloor, 1+refinements).least(); least > block {
		t.Errorf("a perfect answer takes %g rows", least)
	}
}

// TestTheGateSeesMissingNeighbours removes a tenth of the neighbours from a right answer.
func TestTheGateSeesMissingNeighbours(t *testing.T) {
	const n, d, rho = 3000, 8, 5
	rows := clustered(n, d, 30, .5, 1)
	var w Workspace
	lists, err := w.Build(context.Background(), rows, n, d, Options{Rho: rho, Method: "exact", Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(10) {
		if recall, _, passed, err := w.gate(context.Background(), Options{Rho: rho, Workers: 1, Seed: seed}, .95); err != nil ||
			!passed ||
			recall != 1 {
			t.Errorf("the right answer: recall %g, passed %v, %v", recall, passed, err)
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	for i := range lists.IDs {
		if random.IntN(10) == 0 {
			lists.IDs[i] = -1
		}
	}
	for seed := range uint64(10) {
		if recall, sample, passed, err := w.gate(context.Background(), Options{Rho: rho, Workers: 1, Seed: seed}, .95); err != nil ||
			passed {
			t.Errorf("a tenth is missing, and %g of it in %d rows passes, %v", recall, sample, err)
		}
	}
}

// TestInexactIsKept: rows without structure defeat the approximate search; with Options.Inexact its answer is
// kept and the report warns.
func TestInexactIsKept(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const n, d = 10_000, 128
	rows := make([]float32, n*d)
	for i := range rows {
		rows[i] = random.Float32()
	}
	b, err := Build(context.Background(), rows, n, d, Options{Rho: 5, Method: "descent", RecallFloor: .98, Inexact: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := b.Report; r.Chosen != "descent" || r.Warning == "" || r.Floor != 0 || r.Recall < .5 {
		t.Errorf("%+v", r)
	}
}
