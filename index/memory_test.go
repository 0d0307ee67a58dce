package index

import (
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
	m, err := NewMemory(d, false)
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
// queries, some vectors removed.
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
			m, err := NewMemory(d, cosine)
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
		m, err := NewMemory(2, c.cosine)
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
	if _, err := NewMemory(0, false); err == nil {
		t.Error("dimension 0 taken")
	}
}

func TestMemoryIsSearchedWhileItGrows(t *testing.T) {
	m, err := NewMemory(3, true)
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
