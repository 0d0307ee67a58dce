package labels

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

func heldBy(v *Version) (ids []string) {
	for _, e := range v.Labels.All() {
		ids = append(ids, e.ID+"="+e.Label)
	}
	return ids
}

func teach(id, label string) record.Label {
	return record.Label{Teach: &record.Item{ItemID: id, Label: label, Vector: []float32{1}}}
}

// saidBy returns the contents of a version, without resets.
func saidBy(v *Version) (list []string) {
	for s, e := range v.Labels.All() {
		list = append(list, fmt.Sprintf("%s/%s=%s %v", s, e.ID, e.Label, e.Vector))
	}
	for c := range 8 {
		list = append(list, v.naming.names.Of("a", fmt.Sprint("c", c)))
	}
	for r := range v.said.All() {
		list = append(list, r.Key)
	}
	return append(list, fmt.Sprint(len(v.naming.faults), v.naming.leftOut, len(v.naming.resets)))
}

// The same record holds in whatever order partitions are read.
func TestTheSameRecordHolds(t *testing.T) {
	now := time.Now()
	type said struct {
		partition int
		at        time.Time
		what      record.Label
	}
	zero := []said{
		{0, now.Add(9 * time.Second), teach("x", "early, of a clock that was ahead")}, {0, now, teach("x", "a")},
	}
	one := []said{{1, now.Add(-time.Second), teach("x", "old")}, {1, now, teach("x", "b")}}
	for _, order := range [][]said{slices.Concat(zero, one), slices.Concat(one, zero)} {
		l := newHistory(2, nil, 0)
		for i, s := range order {
			l.add(s.partition, int64(i), s.at, s.what)
		}
		v := l.version(l.root, []int64{9, 9})
		if got := heldBy(v); !slices.Equal(got, []string{"x=b"}) {
			t.Errorf("%v", got)
		}
		l.add(0, 9, now.Add(time.Second), record.Label{Forget: "x"})
		if got := heldBy(l.version(v, []int64{10, 9})); got != nil {
			t.Errorf("%v although forgotten", got)
		}
	}
}

// Beyond the bound, the examples with the latest timestamps are in force, in whatever order they were read.
// Forgetting one makes room for another.
func TestExamplesAreBounded(t *testing.T) {
	now := time.Now()
	l := newHistory(2, nil, 3)
	for i, age := range []int{4, 0, 3, 1, 2} {
		l.add(i%2, int64(i), now.Add(-time.Duration(age)*time.Second), teach(fmt.Sprint("e", age), "l"))
	}
	v := l.version(l.root, []int64{5, 5})
	if got := heldBy(v); !slices.Equal(got, []string{"e0=l", "e1=l", "e2=l"}) || v.leftOut != 2 {
		t.Errorf("%v in force, %d left out", got, v.leftOut)
	}
	l.add(1, 9, now, record.Label{Forget: "e1"})
	v = l.version(v, []int64{5, 10})
	if got := heldBy(v); !slices.Equal(got, []string{"e0=l", "e2=l", "e3=l"}) || v.leftOut != 1 {
		t.Errorf("%v in force, %d left out", got, v.leftOut)
	}
}

// A version depends on its offsets alone: it is the same whether made from any other version or by reading
// the topic again, and whatever has been replaced and trimmed since.
func TestVersionsDependOnTheirOffsetsAlone(t *testing.T) {
	const partitions, most = 3, 20
	support := []taught.Example{
		{ID: "k1", Label: "support", Vector: []float32{1}}, {ID: "s", Label: "s", Vector: []float32{1}},
	}
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 3))
		l := newHistory(partitions, support, most)
		if l.room = 1 << 20; seed%3 == 0 {
			l.room = 20_000
		}
		type written struct {
			partition int
			at        time.Time
			what      record.Label
		}
		var all []written
		start := time.Now()
		versions := []*Version{l.root}
		positions := [][]int64{make([]int64, partitions)}
		for i := range 400 {
			at := start.Add(time.Duration(random.IntN(500)) * time.Second)
			w := written{partition: random.IntN(partitions), at: at}
			id := fmt.Sprint("k", random.IntN(60))
			class := func() string { return fmt.Sprint("c", random.IntN(8)) }
			switch random.IntN(12) {
			case 0, 1:
				w.what = record.Label{Forget: id}
			case 2:
				w.what = record.Label{Reset: &record.Reset{Class: id}}
			case 3:
				if n := (record.Name{Name: class(), Into: class()}); n.Name != n.Into {
					w.what = record.Label{Key: record.NameKey(n.Name, ""), Name: &n}
				}
			case 4:
				n := record.Name{Name: class()}
				w.what = record.Label{Key: record.NameKey(n.Name, ""), Name: &n}
			case 5:
				w.what = record.Label{Forget: record.NameKey(class(), "")}
			case 6:
				w.what = record.Label{Not: &record.NotThis{ID: id, Not: []string{class()}, Vector: []float32{1}}}
			}
			if w.what == (record.Label{}) {
				w.what = teach(id, class())
				w.what.By = []string{"", "kim"}[random.IntN(2)]
				w.what.Teach.Vector[0] = float32(i)
				w.what.Teach.Stream = []string{"", "", "a", "b"}[random.IntN(4)]
			}
			all = append(all, w)
			l.next[w.partition]++
			l.add(w.partition, l.next[w.partition]-1, w.at, w.what)
			positions = append(positions, slices.Clone(l.next))
			if random.IntN(4) > 0 {
				continue
			}
			next := positions[random.IntN(len(positions))]
			if random.IntN(2) == 0 {
				next = l.next
			}
			if !l.reaches(next) {
				continue
			}
			v := l.version(versions[random.IntN(len(versions))], next)
			versions = append(versions, v)
			anew := newHistory(partitions, support, most)
			anew.room = 0
			for _, w := range all {
				if p := w.partition; anew.next[p] < next[p] {
					anew.add(p, anew.next[p], w.at, w.what)
					anew.next[p]++
				}
			}
			want := anew.version(anew.root, next)
			ids, wanted := saidBy(v), saidBy(want)
			if !slices.Equal(ids, wanted) || v.leftOut != want.leftOut || len(v.resets) != len(want.resets) {
				t.Fatalf("seed %d, record %d, up to %v:\n%v, %d left out, %d resets, not\n%v, %d, %d", seed, i, next,
					ids, v.leftOut, len(v.resets), wanted, want.leftOut, len(want.resets))
			}
			bytes := int64(0)
			for _, e := range v.Labels.All() {
				bytes += bytesOf(e)
			}
			if v.bytes != bytes {
				t.Fatalf("seed %d, record %d: %d bytes of %d", seed, i, v.bytes, bytes)
			}
		}
	}
}

// Beside 100,000 labels, 3,000 labels with a version each cost in proportion to those 3,000. The earlier
// versions can be made again one after the other at the same cost.
func TestALessonTakesLittleMemory(t *testing.T) {
	const n, lessons, dimension = 100_000, 3000, 8
	l := newHistory(1, nil, n)
	now := time.Now()
	add := func(id string) {
		what := teach(id, "label "+id[len(id)-1:])
		what.Teach.Vector = make([]float32, dimension)
		l.next[0]++
		l.add(0, l.next[0]-1, now.Add(time.Duration(l.next[0])), what)
	}
	for i := range n {
		add(fmt.Sprint("e", i))
	}
	v := l.version(l.root, l.next)
	measure := func(what string, most uint64, do func()) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / lessons; each > most {
			t.Errorf("%s: %d bytes each", what, each)
		}
	}
	measure("a lesson", 96<<10, func() {
		for i := range lessons {
			add(fmt.Sprint("e", i*7)) // every other one replaces a label
			v = l.version(v, l.next)
		}
	})
	held := make([]*Version, 0, lessons)
	measure("a version made again", 96<<10, func() {
		from := v
		for i := range int64(lessons) {
			from = l.version(from, []int64{n + i})
			held = append(held, from)
		}
	})
	if len(held) != lessons || held[0].Labels.Len() != n {
		t.Errorf("%d labels", held[0].Labels.Len())
	}
	all := New(Options{Topic: "labels", Log: slog.New(slog.DiscardHandler)})
	all.records = l
	all.current.Store(v)
	measure("a version for each of two partitions that take turns", 192<<10, func() {
		var first, second *Version
		for i := range int64(lessons / 2) {
			for from, at := range map[**Version]int64{&first: n + i, &second: n + lessons/2 + i} {
				var err error
				if *from, err = all.At(t.Context(), []int64{at}, *from); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
