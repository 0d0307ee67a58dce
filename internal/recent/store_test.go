package recent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// The store never exceeds its bytes, whatever the items, and a quiet partition keeps its items
// beside a busy one.
func TestStoreIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	const most = 1 << 20
	s := New(most)
	quiet := s.Open("in/0")
	quiet.Add(blockOf(random, 10, 16, "quiet"))
	partitions := []*Partition{s.Open("in/1"), s.Open("in/2")}
	for round := range 500 {
		n, d, id := 1+random.IntN(50), 1+random.IntN(64), fmt.Sprint("id-", round)
		switch random.IntN(20) {
		case 0:
			d = 16384
		case 1:
			id = strings.Repeat("x", 65536)
		case 2:
			n = 2000
		}
		partitions[random.IntN(2)].Add(blockOf(random, n, d, id))
		held := int64(0)
		for _, p := range s.partitions {
			for _, b := range p.blocks {
				held += int64(cap(b.codes)+4*cap(b.lengths)+cap(b.texts)) + int64(cap(b.items))*int64(unsafe.Sizeof(kept{}))
			}
		}
		if held > most || s.Bytes() > most {
			t.Fatalf("round %d: %d bytes held, %d counted, of %d", round, held, s.Bytes(), most)
		}
	}
	if len(s.Find("quiet-3")) == 0 {
		t.Error("a busy partition pushed out what a quiet one had")
	}
	s.Open("in/0")
	s.Keep([]string{"in/0"})
	for _, p := range append(partitions, quiet) {
		p.Add(blockOf(random, 5, 5, "late"))
	}
	if items, _ := s.Reach(); items != 0 || s.Bytes() != 0 {
		t.Errorf("%d items, %d bytes after all partitions have gone", items, s.Bytes())
	}
}

func blockOf(random *rand.Rand, n, d int, id string) *Block {
	items := make([]Item, n)
	rows := make([][]float32, n)
	for i := range items {
		name := fmt.Sprint("item:", id, "-", i)
		items[i] = Item{
			ID: name[len("item:"):], Name: name, Time: time.Unix(int64(i), 0), Attributes: make([]byte, random.IntN(6<<10)),
		}
		rows[i] = make([]float32, d)
		for j := range rows[i] {
			rows[i][j] = float32(random.NormFloat64())
		}
	}
	return NewBlock(items, func(i int) []float32 { return rows[i] })
}

// A code has the direction of its vector, whatever the vector's length, and however far one number is above
// the others.
func TestCodes(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for _, size := range []float64{1, 1e-30, 1e-44, 1e30, 3e38} {
		for i, d := range []int{1, 2, 37, 512, 512} {
			x := make([]float32, d)
			for j := range x {
				x[j] = float32(size * max(-1, min(1, random.NormFloat64()/float64(4+i))))
			}
			x[0] = float32(size)
			want, ok := unit(x)
			if !ok {
				t.Fatalf("size %g: no direction", size)
			}
			b := NewBlock(make([]Item, 1), func(int) []float32 { return x })
			got := make([]float32, d)
			b.decode(got, 0)
			dot := 0.
			for j := range got {
				dot += float64(got[j]) * float64(want[j])
			}
			if size > 1e-40 && dot < .9998 || math.IsNaN(dot) {
				t.Errorf("size %g, dimension %d: cosine %g", size, d, dot)
			}
		}
	}
}

// Similar gives the results of an exact search, except for the rounding of the codes.
func TestSimilar(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	s := New(1 << 20)
	p := s.Open("in/0")
	for i := range 5 {
		p.Add(blockOf(random, 20, 24, fmt.Sprint("b", i)))
	}
	p.Add(blockOf(random, 20, 7, "other"))
	vector := s.Find("b2-7")["b2-7"].Vector
	if vector == nil {
		t.Fatal("b2-7 is gone")
	}
	found := s.Similar(Query{Vector: vector, Count: 200})
	if len(found) != 100 || found[0].ID != "b2-7" || found[0].Distance > 1e-5 {
		t.Fatalf("%d items, the first %+v", len(found), found[0])
	}
	for i := range found[1:] {
		if found[i].Distance > found[i+1].Distance {
			t.Fatalf("%g before %g", found[i].Distance, found[i+1].Distance)
		}
	}
	late := s.Similar(Query{Vector: vector, Count: 3, Since: time.Unix(15, 0), Except: found[0].ID})
	if len(late) != 3 || late[0].Time.Before(time.Unix(15, 0)) || late[0].ID == "b2-7" {
		t.Errorf("%+v", late)
	}
	for _, bad := range [][]float32{nil, {0, 0}, {float32(math.NaN()), 1}, {float32(math.Inf(1)), 1}} {
		if got := s.Similar(Query{Vector: bad, Count: 3}); got != nil {
			t.Errorf("%v: %v", bad, got)
		}
	}
}

func BenchmarkBlock(b *testing.B) {
	random := rand.New(rand.NewPCG(4, 4))
	rows := make([][]float32, 100)
	for i := range rows {
		rows[i] = make([]float32, 512)
		for j := range rows[i] {
			rows[i][j] = float32(random.NormFloat64())
		}
	}
	for b.Loop() {
		NewBlock(make([]Item, 100), func(i int) []float32 { return rows[i] })
	}
}

// Many ids are found, and tried as examples, in one pass over what is kept.
func TestManyIDsTakeOnePass(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	s := New(8 << 20)
	p := s.Open("in/0")
	var changes []Change
	var ids []string
	for i := range 1000 {
		p.Add(blockOf(random, 1, 4, fmt.Sprint("b", i)))
		ids = append(ids, fmt.Sprint("gone-", i))
		changes = append(changes, Change{ID: ids[i], Label: "x", Vector: []float32{1, 0, 0, 0}})
	}
	// A pass lists the blocks, at 8 bytes a block: a pass for each id takes 8 MB.
	bytes := func(work func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		work()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := bytes(func() { s.Find(ids...) }); n > 1<<20 {
		t.Errorf("1,000 ids take %d bytes", n)
	}
	if n := bytes(func() { _, _ = s.WouldCorrect(t.Context(), changes, noExamples) }); n > 2<<20 {
		t.Errorf("1,000 examples take %d bytes", n)
	}
}
