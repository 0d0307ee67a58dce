package index

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// clustered draws n rows around centres.
func clustered(n, d, centres int, spread float32, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 9))
	centre := make([]float32, centres*d)
	for i := range centre {
		centre[i] = float32(random.NormFloat64())
	}
	x := make([]float32, n*d)
	for i := range n {
		c := random.IntN(centres)
		for j := range d {
			x[i*d+j] = centre[c*d+j] + spread*float32(random.NormFloat64())
		}
	}
	return x
}

// recall returns the share of true neighbours in got, by distance.
func recall(rows []float32, d int, got, want *Neighbours) float64 {
	found := 0
	for p := range want.N {
		row := rows[p*d : p*d+d]
		right, _ := want.Row(p)
		last := int(right[want.Rho-1])
		limit := squaredExactly(row, rows[last*d:last*d+d])
		ids, _ := got.Row(p)
		for _, id := range ids {
			if id >= 0 && squaredExactly(row, rows[int(id)*d:int(id)*d+d]) <= limit {
				found++
			}
		}
	}
	return float64(found) / float64(len(want.IDs))
}

// approximateMethods returns those that this build has.
func approximateMethods() []string {
	if hnswBuilt {
		return []string{"descent", "hnsw"}
	}
	return []string{"descent"}
}

func TestApproximateSearchFindsNearlyAll(t *testing.T) {
	const n, d, rho = 2500, 24, 6
	rows := clustered(n, d, 40, .4, 1)
	want, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range approximateMethods() {
		got, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: method, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if got.Report.Chosen != method || got.Report.Sample == 0 || got.Report.Warning != "" {
			t.Errorf("%s: %+v", method, got.Report)
		}
		if r := recall(rows, d, got, want); r < DefaultRecallFloor || got.Report.Floor != DefaultRecallFloor {
			t.Errorf("%s: recall %.4f, measured as %+v", method, r, got.Report)
		}
		for p := range n {
			ids, distances := got.Row(p)
			if slices.Contains(ids, int32(p)) || !slices.IsSorted(distances) || slices.Contains(ids, -1) {
				t.Fatalf("%s: row %d has neighbours %d at %g", method, p, ids, distances)
			}
		}
		again, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: method, Seed: 1, Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.IDs, again.IDs) || !slices.Equal(got.Distances, again.Distances) {
			t.Errorf("%s: three workers find other neighbours than two", method)
		}
	}
}

func TestBelowTheFloorTheSearchIsExact(t *testing.T) {
	const n, d, rho = 700, 5, 4
	rows := hardRows("one tiny column", n, d, 2) // distances lost to rounding in every tile
	want, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: "exact"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: "descent"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Report.Chosen != "exact" || got.Report.Warning == "" || got.Report.Recall != 1 {
		t.Errorf("%+v", got.Report)
	}
	if !slices.Equal(got.IDs, want.IDs) {
		t.Error("the answer is not the exact one")
	}
}

func TestApproximateSearchOfHardRows(t *testing.T) {
	for _, kind := range hardKinds {
		const n, d, rho = 400, 5, 4
		rows := hardRows(kind, n, d, 6)
		want := brute(rows, n, d, rho)
		for _, method := range approximateMethods() {
			got, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: method})
			if err != nil {
				t.Fatalf("%s, %s: %v", kind, method, err)
			}
			if r := recall(rows, d, got, want); r < .9 {
				t.Errorf("%s, %s: recall %.3f, measured as %+v", kind, method, r, got.Report)
			}
		}
	}
}
