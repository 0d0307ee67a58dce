package ordered

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

type pair struct{ key, value int }

func byKey(a, b pair) int       { return cmp.Compare(a.key, b.key) }
func atKey(a pair, key int) int { return cmp.Compare(a.key, key) }

// After any edits, one at a time or many at once, every version holds the values that a map of its own holds,
// in order, and still does when others are made from it.
func TestEveryVersionStays(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		type version struct {
			list List[pair]
			want map[int]int
		}
		versions := []version{{New(byKey), map[int]int{}}}
		for range 60 {
			from := versions[random.IntN(len(versions))]
			next := version{want: maps.Clone(from.want)}
			var edits []Edit[pair]
			count := 1 + random.IntN(3)
			if random.IntN(10) == 0 {
				count = random.IntN(4 * chunkMost)
			}
			clearing := random.IntN(3) == 0
			for range count {
				e := Edit[pair]{pair{random.IntN(5 * chunkMost), random.Int()}, clearing || random.IntN(2) == 0}
				edits = append(edits, e)
				if next.want[e.Value.key] = e.Value.value; e.Out {
					delete(next.want, e.Value.key)
				}
			}
			next.list = from.list.Edit(edits)
			versions = append(versions, next)
		}
		for i, v := range versions {
			keys := slices.Sorted(maps.Keys(v.want))
			if v.list.Len() != len(keys) {
				t.Fatalf("seed %d, version %d: %d values, not %d", seed, i, v.list.Len(), len(keys))
			}
			index := 0
			for x := range v.list.All() {
				if x.key != keys[index] || x.value != v.want[x.key] || v.list.At(index) != x {
					t.Fatalf("seed %d, version %d, index %d: %v", seed, i, index, x)
				}
				index++
			}
			for range 20 {
				key := random.IntN(5*chunkMost + 2)
				at, _ := slices.BinarySearch(keys, key)
				x, ok := Search(v.list, key, atKey)
				if ok != (at < len(keys)) || ok && x.key != keys[at] {
					t.Fatalf("seed %d, version %d: %v, %v from %d on", seed, i, x, ok, key)
				}
			}
			for j, chunk := range v.list.chunks {
				if len(chunk) == 0 || len(chunk) > chunkMost {
					t.Fatalf("seed %d, version %d: chunk %d holds %d", seed, i, j, len(chunk))
				}
			}
		}
	}
}

// An edit copies one chunk and the list of chunks, however long the list is.
func TestAChangeIsSmall(t *testing.T) {
	const n = 100_000
	var edits []Edit[pair]
	for i := range n {
		edits = append(edits, Edit[pair]{pair{2 * i, i}, false})
	}
	list := New(byKey).Edit(edits)
	const changes = 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range changes {
		_ = list.Edit([]Edit[pair]{{pair{(i*7919 + 1) % (2 * n), 0}, false}})
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / changes; each > 32<<10 {
		t.Errorf("a change of %d values takes %d bytes", n, each)
	}
}
