package identity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

const dimension = 24

// world makes clusters of things at streams that each add an offset of their own.
type world struct {
	random  *rand.Rand
	things  [][]float32
	offsets [][]float32
	noise   float32
}

func newWorld(seed uint64, things, streams int, noise float32) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 59)), noise: noise}
	for range things {
		w.things = append(w.things, w.row(1))
	}
	for range streams {
		w.offsets = append(w.offsets, w.row(1))
	}
	return w
}

func (w *world) row(length float32) []float32 {
	out := make([]float32, dimension)
	for i := range out {
		out[i] = length * float32(w.random.NormFloat64())
	}
	return out
}

func (w *world) cluster(stream, thing int) Cluster {
	row := w.row(w.noise)
	kernel.Axpy(1, w.things[thing], row)
	kernel.Axpy(1, w.offsets[stream], row)
	return Cluster{
		Key:  Key{fmt.Sprint("camera-", stream), fmt.Sprint("cluster-", thing), ""},
		Mean: unit(row), Items: 20, Seen: 1,
	}
}

func unit(row []float32) []float32 {
	kernel.Scale(1/float32(math.Sqrt(float64(kernel.Dot(row, row)))), row)
	return row
}

// all returns every thing at every stream.
func (w *world) all() (out []Cluster) {
	for stream := range w.offsets {
		for thing := range w.things {
			out = append(out, w.cluster(stream, thing))
		}
	}
	return out
}

// One thing gets one identity over streams that each see it through an offset as large as itself, and two
// things never the same.
func TestOneIdentityOverStreams(t *testing.T) {
	w := newWorld(1, 30, 6, .1)
	l := New(Defaults())
	l.Update(w.all(), nil)
	ids := map[int64]string{}
	for thing := range w.things {
		id := l.Of(Key{"camera-0", fmt.Sprint("cluster-", thing), ""})
		for stream := range w.offsets {
			key := Key{fmt.Sprint("camera-", stream), fmt.Sprint("cluster-", thing), ""}
			if l.Of(key) != id {
				t.Errorf("%v has identity %d, at camera-0 %d", key, l.Of(key), id)
			}
		}
		if other, taken := ids[id]; taken || id == 0 {
			t.Errorf("identity %d is that of cluster-%d and %s", id, thing, other)
		}
		ids[id] = fmt.Sprint("cluster-", thing)
		if n := len(l.Members(id)); n != len(w.offsets) {
			t.Errorf("identity %d has %d clusters, not one of each stream", id, n)
		}
	}
}

// history is a random history of updates, ends, names and rejections. after is called after each update.
func history(seed uint64, steps int, l *Linker, after func(known map[Key]*Cluster, touched map[Key]bool, rejected map[[2]Key]bool,
	changes []Change),
) {
	w := newWorld(seed, 6, 4, .6)
	known, rejected := map[Key]*Cluster{}, map[[2]Key]bool{}
	keys := func() []Key {
		var out []Key
		for k := range known {
			out = append(out, k)
		}
		slices.SortFunc(out, Key.Compare)
		return out
	}
	for range steps {
		var changed []Cluster
		var ended []Key
		touched := map[Key]bool{}
		for range 1 + w.random.IntN(4) {
			c := w.cluster(w.random.IntN(4), w.random.IntN(6))
			if touched[c.Key] {
				continue
			}
			c.Items, c.Seen = int64(1+w.random.IntN(50)), int64(w.random.IntN(100))
			if old := known[c.Key]; old != nil {
				c.Apart = old.Apart
			}
			if w.random.IntN(10) == 0 {
				c.Model = "other"
			}
			if w.random.IntN(3) == 0 {
				c.Name = []string{"anna", "bob"}[w.random.IntN(2)]
			}
			if w.random.IntN(3) == 0 {
				c.Apart = append(slices.Clone(c.Apart), fmt.Sprint("cluster-", w.random.IntN(6)))
				c.Apart = slices.DeleteFunc(c.Apart, func(other string) bool { return other == c.Cluster })
			}
			changed, touched[c.Key] = append(changed, c), true
		}
		if all := keys(); len(all) > 1 && w.random.IntN(3) == 0 {
			if end := all[w.random.IntN(len(all))]; !touched[end] {
				ended = append(ended, end)
				delete(known, end)
			}
		}
		for i := range changed {
			known[changed[i].Key] = &changed[i]
		}
		if all := keys(); len(all) > 1 && w.random.IntN(4) == 0 {
			a, b := changed[0].Key, all[w.random.IntN(len(all))]
			switch {
			case a == b:
			case w.random.IntN(4) == 0:
				l.Allow(b, a)
				delete(rejected, pairOf(a, b))
			default:
				l.Reject(a, b)
				rejected[pairOf(a, b)] = true
			}
		}
		after(known, touched, rejected, l.Update(changed, ended))
	}
}

// Whatever happens, no identity holds clusters of two names, two that were seen in one frame, or two of which
// somebody said that they are not the same; changes are what changed; and no more identities are kept than
// allowed.
func TestNeverJoined(t *testing.T) {
	for seed := range uint64(300) {
		settings := Defaults()
		settings.Limit = .3 // much would be joined
		if seed%3 == 0 {
			settings.Most = 5
		}
		l, before := New(settings), map[Key]int64{}
		history(seed, 30, l, func(known map[Key]*Cluster, touched map[Key]bool, rejected map[[2]Key]bool, changes []Change) {
			for _, c := range changes {
				if before[c.Key] != c.Before || c.Before == c.After || l.Of(c.Key) != c.After {
					t.Fatalf("seed %d: %+v, but it was %d and is %d", seed, c, before[c.Key], l.Of(c.Key))
				}
				before[c.Key] = c.After
			}
			groups := map[int64][]*Cluster{}
			for key, c := range known {
				id := l.Of(key)
				if id != before[key] {
					t.Fatalf("seed %d: %v is %d, which no change said", seed, key, id)
				}
				if id == 0 {
					if touched[key] && settings.Most > len(known) {
						t.Fatalf("seed %d: %v has no identity", seed, key)
					}
					continue
				}
				for _, o := range groups[id] {
					apart := slices.Contains(c.Apart, o.Cluster) || slices.Contains(o.Apart, c.Cluster)
					switch {
					case c.Name != "" && o.Name != "" && c.Name != o.Name:
						t.Fatalf("seed %d: %v of name %s and %v of name %s are joined", seed, key, c.Name, o.Key, o.Name)
					case c.Stream == o.Stream && apart:
						t.Fatalf("seed %d: %v and %v of one frame are joined", seed, key, o.Key)
					case rejected[pairOf(key, o.Key)]:
						t.Fatalf("seed %d: %v and %v were said to differ and are joined", seed, key, o.Key)
					}
				}
				groups[id] = append(groups[id], c)
			}
			if len(groups) > settings.Most {
				t.Fatalf("seed %d: %d identities, more than %d", seed, len(groups), settings.Most)
			}
			for id, list := range groups {
				if len(l.Members(id)) != len(list) {
					t.Fatalf("seed %d: identity %d has %v", seed, id, l.Members(id))
				}
			}
		})
	}
}

// The same calls give the same identities.
func TestTheSameCallsGiveTheSame(t *testing.T) {
	run := func() (all [][]Change) {
		history(7, 60, New(Defaults()), func(_ map[Key]*Cluster, _ map[Key]bool, _ map[[2]Key]bool, changes []Change) {
			all = append(all, changes)
		})
		return all
	}
	first := run()
	for range 5 {
		if again := run(); !reflect.DeepEqual(first, again) {
			t.Fatalf("changes %v, then %v", first, again)
		}
	}
}

// A process that takes over, with clusters and identities as they were, changes none of them when it is told
// of the clusters again, in any order, and gives no id a second time.
func TestRestore(t *testing.T) {
	w := newWorld(3, 20, 5, .1)
	l, clusters := New(Defaults()), w.all()
	for part := range slices.Chunk(clusters, 7) {
		l.Update(part, nil)
	}
	var ids []int64
	for _, c := range clusters {
		ids = append(ids, l.Of(c.Key))
	}
	next := New(Defaults())
	next.Restore(clusters, ids)
	order := w.random.Perm(len(clusters))
	for _, i := range order {
		if changes := next.Update(clusters[i:i+1], nil); len(changes) > 0 {
			t.Fatalf("changes %v after a takeover", changes)
		}
	}
	other := clusters[1]
	other.Model = "other"
	mixed := New(Defaults())
	mixed.Restore([]Cluster{clusters[0], other}, []int64{7, 7})
	if mixed.Of(clusters[0].Key) != 7 || mixed.Of(other.Key) != 0 {
		t.Error("clusters of two models are one identity")
	}
	stranger := Cluster{Key: Key{"camera-0", "new", ""}, Mean: unit(w.row(1)), Items: 1}
	changes := next.Update([]Cluster{stranger}, nil)
	if len(changes) != 1 || slices.Contains(ids, changes[0].After) {
		t.Errorf("changes %v: a new cluster gets an identity of its own", changes)
	}
}

// An identity that falls apart keeps its id where most of its items are; two that become one keep that of more
// items.
func TestIDsFollowMostItems(t *testing.T) {
	w := newWorld(4, 12, 3, .05)
	l, clusters := New(Defaults()), w.all()
	for i := range clusters {
		clusters[i].Items = int64(10 * (1 + i/len(w.things))) // 10 at camera-0, 30 at camera-2
	}
	l.Update(clusters, nil)
	keys := []Key{{"camera-0", "cluster-5", ""}, {"camera-1", "cluster-5", ""}, {"camera-2", "cluster-5", ""}}
	id := l.Of(keys[0])
	for _, other := range keys[:2] {
		l.Reject(other, keys[2])
	}
	l.Update([]Cluster{clusters[5]}, nil)
	if l.Of(keys[0]) == l.Of(keys[2]) || l.Of(keys[1]) == l.Of(keys[2]) || l.Of(keys[0]) != l.Of(keys[1]) {
		t.Fatalf("identities %d %d %d", l.Of(keys[0]), l.Of(keys[1]), l.Of(keys[2]))
	}
	if l.Of(keys[0]) != id && l.Of(keys[2]) != id {
		t.Error("no part kept the id")
	}
	small := l.Of(keys[2])
	clusters[2*len(w.things)+5].Items = 100
	for _, other := range keys[:2] {
		l.Allow(other, keys[2])
	}
	l.Update([]Cluster{clusters[2*len(w.things)+5]}, nil)
	for _, key := range keys {
		if l.Of(key) != small {
			t.Errorf("%v is %d, not %d, which had most items", key, l.Of(key), small)
		}
	}
}

// Beyond the bound, the identities of fewest items go, and come back when they are seen again.
func TestBound(t *testing.T) {
	w := newWorld(5, 40, 2, .05)
	settings := Defaults()
	settings.Most = 37
	l, clusters := New(settings), w.all()
	for i := range clusters {
		clusters[i].Items = int64(1 + i%len(w.things))
	}
	l.Update(clusters, nil)
	for thing := range w.things {
		if kept := l.Of(clusters[thing].Key) != 0; kept != (thing >= 3) {
			t.Errorf("cluster-%d of %d items: kept %t", thing, thing+1, kept)
		}
	}
	clusters[0].Items = 1000
	l.Update(clusters[:1], nil)
	if l.Of(clusters[0].Key) == 0 || l.Of(clusters[3].Key) != 0 {
		t.Error("the identity of fewest items is not the one that went")
	}
}

// Labelled items that vary along a direction say nothing of what a thing is: it stops to count.
func TestLabelledItemsTeachWhatVaries(t *testing.T) {
	w := newWorld(6, 10, 3, .05)
	for i := range w.offsets {
		w.offsets[i] = make([]float32, dimension)
	}
	vary := func(c Cluster) Cluster {
		c.Mean[0] += float32(w.random.NormFloat64())
		unit(c.Mean)
		return c
	}
	var labelled []Labelled
	var clusters []Cluster
	for stream := range w.offsets {
		for thing := range w.things {
			clusters = append(clusters, vary(w.cluster(stream, thing)))
			for range 4 {
				c := vary(w.cluster(stream, thing))
				labelled = append(labelled, Labelled{Stream: c.Stream, Label: c.Cluster, Vector: c.Mean})
			}
		}
	}
	right := func(l *Linker) (n int) {
		for _, c := range clusters {
			if l.Of(c.Key) == l.Of(Key{"camera-0", c.Cluster, ""}) {
				n++
			}
		}
		return n
	}
	l := New(Defaults())
	l.Update(clusters, nil)
	without := right(l)
	if err := l.Learn(labelled); err != nil {
		t.Fatal(err)
	}
	l.Update(nil, nil)
	if with := right(l); with <= without || with < 3*len(clusters)/4 {
		t.Errorf("%d of %d clusters have the identity of their thing, %d without labelled items", with, len(clusters), without)
	}
}

// Units of several clusters are as alike as their clusters are in the mean, and not at all if two of these are not.
func TestUnitsAreAsAlikeAsTheirClusters(t *testing.T) {
	w := newWorld(9, 6, 4, .6)
	l, clusters := New(Defaults()), w.all()
	l.Restore(clusters, slices.Repeat([]int64{1}, len(clusters)))
	l.Reject(clusters[0].Key, clusters[len(clusters)-1].Key)
	var single, units [][]*member
	for i := range clusters {
		m := l.clusters[clusters[i].Key]
		m.of = nil // what was of one identity counts apart
		single = append(single, []*member{m})
		if i%5 == 0 {
			units = append(units, nil)
		}
		units[len(units)-1] = append(units[len(units)-1], m)
	}
	alone, together := l.likeness(single), l.likeness(units)
	for i, a := range units {
		for j, b := range units[:i] {
			sum := 0.
			for x := range a {
				for y := range b {
					sum += float64(alone[(5*i+x)*len(single)+5*j+y])
				}
			}
			mean, got := sum/float64(len(a)*len(b)), float64(together[i*len(units)+j])
			if got != mean && math.Abs(got-mean) > 1e-5 {
				t.Errorf("units %d and %d are %v alike, their clusters %v in the mean", i, j, got, mean)
			}
		}
	}
}

// Of a cluster that comes twice in one update, the last counts.
func TestTheLastOfAKeyCounts(t *testing.T) {
	w := newWorld(10, 5, 2, .05)
	l, clusters := New(Defaults()), w.all()
	first := clusters[0]
	first.Mean, first.Items = []float32{1}, 99
	l.Update(append([]Cluster{first}, clusters...), nil)
	if id := l.Of(clusters[0].Key); id != l.Of(clusters[len(w.things)].Key) || len(l.Members(id)) != 2 {
		t.Errorf("identity %d has %v", id, l.Members(id))
	}
	if left := len(l.clusters); left != len(clusters) {
		t.Errorf("%d clusters, not %d", left, len(clusters))
	}
}

// Clusters of different models, or dimensions, are never compared.
func TestModelsAreNotCompared(t *testing.T) {
	w := newWorld(8, 5, 2, 0)
	clusters := w.all()
	for i := range clusters[len(w.things):] {
		clusters[len(w.things)+i].Model = "other"
	}
	l := New(Defaults())
	l.Update(clusters, nil)
	for thing := range w.things {
		if a, b := clusters[thing], clusters[len(w.things)+thing]; l.Of(a.Key) == l.Of(b.Key) {
			t.Errorf("%v and %v of two models are identity %d", a.Key, b.Key, l.Of(a.Key))
		}
	}
}

// Updates of one cluster each, with 200 streams of 500 clusters known, one by one and in blocks.
func BenchmarkUpdate(b *testing.B) {
	const streams, things, d = 200, 500, 512
	random := rand.New(rand.NewPCG(1, 1))
	row := func(from []float32, noise float64) []float32 {
		out := make([]float32, d)
		for i := range out {
			out[i] = float32(random.NormFloat64() * noise)
			if from != nil {
				out[i] += from[i]
			}
		}
		return unit(out)
	}
	centres := make([][]float32, 10_000)
	for i := range centres {
		centres[i] = row(nil, 1)
	}
	var clusters []Cluster
	var ids []int64
	for stream := range streams {
		for range things {
			id := random.IntN(len(centres))
			ids = append(ids, int64(id+1))
			clusters = append(clusters, Cluster{
				Key:  Key{fmt.Sprint(stream), fmt.Sprint(len(ids)), ""},
				Mean: row(centres[id], .02), Items: 20,
			})
		}
	}
	for _, block := range []int{1, Block} {
		b.Run(fmt.Sprint("block=", block), func(b *testing.B) {
			l := New(Defaults())
			l.Restore(clusters, ids)
			var next []Cluster
			for i := range b.N {
				if i == 0 {
					b.ResetTimer()
				}
				if len(next) == 0 {
					for at := range block {
						next = append(next, clusters[(i+at)*7919%len(clusters)])
					}
					if block > 1 {
						l.Ahead(next)
					}
				}
				l.Update(next[:1], nil)
				next = next[1:]
			}
		})
	}
}
