package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// TestMemoryAgainstAList adds, removes and searches at random and compares with a plain list.
func TestMemoryAgainstAList(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	const d = 7
	m, err := NewMemory(d, MemoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		id     uint64
		vector []float32
	}
	var list []entry
	var hits []Hit
	for step := range 600 {
		switch random.IntN(3) {
		case 0:
			if len(list) > 0 {
				i := random.IntN(len(list))
				if !m.Remove(list[i].id) {
					t.Fatalf("step %d: %d is not there", step, list[i].id)
				}
				list = slices.Delete(list, i, i+1)
			}
		default:
			vector := make([]float32, d)
			for j := range vector {
				vector[j] = float32(random.IntN(3)) // many ties
			}
			id := random.Uint64()
			if err := m.Add(id, vector); err != nil {
				t.Fatal(err)
			}
			list = append(list, entry{id, slices.Clone(vector)})
			clear(vector) // the Memory keeps a copy
		}
		query := make([]float32, d)
		for j := range query {
			query[j] = float32(random.IntN(3))
		}
		hits, err = m.Search(hits[:0], query, 5)
		if err != nil {
			t.Fatal(err)
		}
		sort.Slice(list, func(i, j int) bool {
			a, b := kernel.SquaredDistance(query, list[i].vector), kernel.SquaredDistance(query, list[j].vector)
			return a < b || a == b && list[i].id < list[j].id
		})
		if len(hits) != min(5, len(list)) || m.Len() != len(list) {
			t.Fatalf("step %d: %d hits of %d vectors", step, len(hits), len(list))
		}
		for i, h := range hits {
			if h.ID != list[i].id {
				t.Fatalf("step %d: hit %d is %d, not %d", step, i, h.ID, list[i].id)
			}
		}
	}
}

// TestManySearchesAreAsOne compares SearchEach with single searches: hard rows, ties, cosine, few and many
// queries, some vectors removed, with a graph and without.
func TestManySearchesAreAsOne(t *testing.T) {
	compare := func(name string, m *Memory, rows []float32, d, k int) {
		var queries [][]float32
		for q := 0; q < len(rows)/d; q += 3 {
			queries = append(queries, rows[q*d:(q+1)*d])
		}
		for _, queries := range [][][]float32{queries, queries[:fewQueries], queries[:1], nil} {
			each, err := m.SearchEach(queries, k)
			if err != nil || len(each) != len(queries) {
				t.Fatalf("%s: %d of %d, %v", name, len(each), len(queries), err)
			}
			for i, query := range queries {
				if one, err := m.Search(nil, query, k); err != nil || !slices.Equal(one, each[i]) {
					t.Fatalf("%s, query %d: %v and %v, %v", name, i, each[i], one, err)
				}
			}
		}
	}
	for _, kind := range hardKinds {
		for _, cosine := range []bool{false, true} {
			const n, d = 900, 5
			rows := hardRows(kind, n, d, 7)
			m, err := NewMemory(d, MemoryOptions{Cosine: cosine})
			if err != nil {
				t.Fatal(err)
			}
			good := rows[:0:0]
			for i := range n {
				if row := rows[i*d : (i+1)*d]; m.Add(uint64(i*7919%1000), row) == nil {
					good = append(good, row...)
				}
			}
			for i := range n / 5 {
				m.Remove(uint64(5 * i))
			}
			for _, k := range []int{1, 6, n, 0} {
				if len(good) >= 3*fewQueries*d {
					compare(fmt.Sprint(kind, " ", cosine, " ", k), m, good, d, k)
				}
			}
		}
	}
	if !hnswBuilt {
		return
	}
	const n, d = 2000, 12
	rows := clustered(n, d, 20, .5, 19)
	m, err := NewMemory(d, MemoryOptions{Above: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if i == n-100 {
			if err := m.Build(context.Background()); err != nil || m.graph == nil {
				t.Fatalf("graph %v, %v", m.graph != nil, err)
			}
		}
		if err := m.Add(uint64(i), rows[i*d:(i+1)*d]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n / 10 {
		m.Remove(uint64(10*i + 3))
	}
	compare("graph", m, rows, d, 5)
}

func TestMemoryRefusesWhatItCannotHold(t *testing.T) {
	nan, infinite := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		name   string
		cosine bool
		vector []float32
	}{
		{"nan", false, []float32{0, nan}},
		{"infinite", true, []float32{infinite, 0}},
		{"short", false, []float32{1}},
		{"long", true, []float32{1, 2, 3}},
		{"none", false, nil},
		{"zero", true, []float32{0, 0}},
		{"too large", false, []float32{3e38, 3e38}},
	} {
		m, err := NewMemory(2, MemoryOptions{Cosine: c.cosine})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Add(1, c.vector); err == nil {
			t.Errorf("%s: added", c.name)
		}
		if _, err := m.Search(nil, c.vector, 1); err == nil {
			t.Errorf("%s: searched for", c.name)
		}
		if err := m.Add(1, []float32{1, 2}); err != nil {
			t.Error(err)
		}
		if err := m.Add(1, []float32{2, 1}); err == nil {
			t.Errorf("an id added twice")
		}
		if hits, err := m.Search(nil, []float32{1, 2}, -1); err != nil || len(hits) != 0 {
			t.Errorf("-1 hits: %v, %v", hits, err)
		}
	}
	if _, err := NewMemory(0, MemoryOptions{}); err == nil {
		t.Error("dimension 0 taken")
	}
}

func TestMemoryIsSearchedWhileItGrows(t *testing.T) {
	m, err := NewMemory(3, MemoryOptions{Cosine: true})
	if err != nil {
		t.Fatal(err)
	}
	var searchers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		searchers.Go(func() {
			var hits []Hit
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				if hits, err = m.Search(hits[:0], []float32{1, 1, 0}, 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	x := uniform(3*2000, 7)
	for i := range 2000 {
		if err := m.Add(uint64(i), x[3*i:3*i+3]); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			m.Remove(uint64(i / 2))
		}
	}
	close(stop)
	searchers.Wait()
}

// nearestShare returns the share of the 5 nearest of rows, by distance among those present, that m finds.
func nearestShare(t *testing.T, m *Memory, rows []float32, d int, present func(id int) bool) float64 {
	t.Helper()
	found, wanted := 0, 0
	var hits []Hit
	n := len(rows) / d
	for q := range 100 {
		query := rows[q*n/100*d:][:d]
		var err error
		if hits, err = m.Search(hits[:0], query, 5); err != nil {
			t.Fatal(err)
		}
		var all []float64
		for id := range n {
			if present(id) {
				all = append(all, squared(query, rows[id*d:(id+1)*d]))
			}
		}
		slices.Sort(all)
		for k, h := range hits {
			if !present(int(h.ID)) {
				t.Fatalf("%d was removed and is found", h.ID)
			}
			if float64(h.Distance)*float64(h.Distance) <= all[4]*(1+1e-6) {
				found++
			}
			if k > 0 && h.Distance < hits[k-1].Distance {
				t.Fatalf("hits %v", hits)
			}
		}
		wanted += 5
	}
	return float64(found) / float64(wanted)
}

// TestMemoryWithAGraph adds a tenth and more to a Memory with a graph, and removes a third of it.
func TestMemoryWithAGraph(t *testing.T) {
	if !hnswBuilt {
		t.Skip("no HNSW library")
	}
	const n, d, first = 6000, 16, 5000
	ctx := context.Background()
	rows := clustered(n, d, 8, .5, 15)
	m, err := NewMemory(d, MemoryOptions{Above: 1000})
	if err != nil {
		t.Fatal(err)
	}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			if err := m.Add(uint64(i), rows[i*d:i*d+d]); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(name string, present func(id int) bool) {
		if share := nearestShare(t, m, rows, d, present); share < .9 {
			t.Errorf("%s: %.3f of the nearest are found", name, share)
		}
	}
	add(0, first)
	if err := m.Build(ctx); err != nil {
		t.Fatal(err)
	}
	if m.graph == nil || m.linked != first {
		t.Fatalf("no graph of all: %d", m.linked)
	}
	check("built", func(id int) bool { return id < first })
	add(first, n)
	check("grown", func(id int) bool { return true })
	for i := range n / 3 {
		if !m.Remove(uint64(3 * i)) {
			t.Fatalf("%d is not there", 3*i)
		}
	}
	present := func(id int) bool { return id%3 != 0 }
	check("shrunk", present)
	if err := m.Build(ctx); err != nil {
		t.Fatal(err)
	}
	if m.graph == nil || m.linked != n-n/3 || m.gone != nil || m.Len() != n-n/3 {
		t.Fatalf("the new graph has %d of %d", m.linked, m.Len())
	}
	check("built anew", present)
	for id := range n {
		if m.Remove(uint64(id)) != present(id) {
			t.Fatalf("removing %d", id)
		}
	}
	if m.Len() != 0 || m.graph != nil || len(m.ids) != 0 {
		t.Errorf("%d vectors are left, graph %v", m.Len(), m.graph != nil)
	}
}

// TestAGraphIsTheSameInEveryRun: the same vectors and the same seed give the same answers, byte for byte,
// with any number of goroutines.
func TestAGraphIsTheSameInEveryRun(t *testing.T) {
	if !hnswBuilt {
		t.Skip("no HNSW library")
	}
	const n, d = 3000, 24
	rows := clustered(n, d, 8, .5, 16)
	var first []int32
	for run := range 4 {
		graph, err := testedGraph(context.Background(), rows, d, Options{Seed: 3, Workers: 1 + run%3})
		if err != nil || graph == nil {
			t.Fatalf("graph %v, %v", graph != nil, err)
		}
		var found []int32
		for i := range 200 {
			found = graph.search(found, rows[i*d:i*d+d], candidatesAsked, -1)
		}
		if run == 0 {
			first = found
		} else if !slices.Equal(first, found) {
			t.Fatalf("run %d finds others", run)
		}
	}
}

// TestAGraphFindsClustersThatNothingLeadsTo: in hundreds of clusters equally far from each other, with no
// links between them, rows near vectors that the graph does not have are found.
func TestAGraphFindsClustersThatNothingLeadsTo(t *testing.T) {
	if !hnswBuilt {
		t.Skip("no HNSW library")
	}
	const n, d, held = 8000, 32, 200
	all := clustered(n+held, d, 200, .3, 18)
	rows := all[:n*d]
	graph, err := testedGraph(context.Background(), rows, d, Options{Seed: 1, Workers: 2})
	if err != nil || graph == nil {
		t.Fatalf("graph %v, %v", graph != nil, err)
	}
	found := 0
	for q := n; q < n+held; q++ {
		query := all[q*d : (q+1)*d]
		var right nearestList
		right.reset(5)
		for i := range int32(n) {
			right.offer(squared(query, rows[int(i)*d:int(i+1)*d]), i)
		}
		near := graph.search(nil, query, graph.candidates, -1)
		for _, id := range right.ids {
			if slices.Contains(near, id) {
				found++
			}
		}
	}
	if share := float64(found) / held / 5; share < graphFloor {
		t.Errorf("%.3f of the nearest are found", share)
	}
}

// TestMemoryIsSearchedWhileItsGraphIsMade searches and changes a Memory while its graph is made.
func TestMemoryIsSearchedWhileItsGraphIsMade(t *testing.T) {
	const n, d = 1500, 8
	rows := clustered(n, d, 10, .5, 17)
	m, err := NewMemory(d, MemoryOptions{Above: 300})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var searchers sync.WaitGroup
	for range 2 {
		searchers.Go(func() {
			var hits []Hit
			for {
				select {
				case <-stop:
					return
				default:
				}
				var err error
				if hits, err = m.Search(hits[:0], rows[:d], 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	there := map[int]bool{}
	for i := range n {
		if err := m.Add(uint64(i), rows[i*d:i*d+d]); err != nil {
			t.Fatal(err)
		}
		there[i] = true
		if i%4 == 3 {
			if m.Remove(uint64(i/2)) != there[i/2] {
				t.Fatalf("removing %d", i/2)
			}
			delete(there, i/2)
		}
	}
	close(stop)
	searchers.Wait()
	if err := m.Build(context.Background()); err != nil {
		t.Fatal(err)
	}
	if m.Len() != len(there) {
		t.Fatalf("%d vectors, not %d", m.Len(), len(there))
	}
	if share := nearestShare(t, m, rows, d, func(id int) bool { return there[id] }); share < .9 {
		t.Errorf("%.3f of the nearest are found", share)
	}
}
