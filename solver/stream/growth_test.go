package stream

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// bytesOf returns the bytes that a stream with these settings allocates for one episode.
func bytesOf(t *testing.T, set Settings, items []Item, labels *taught.Labels) uint64 {
	t.Helper()
	s := New("s", set)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := s.Answer(t.Context(), nil, items, labels)
	s.Learn()
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// scattered are items that have nothing in common.
func scattered(n, d int) []Item {
	random := rand.New(rand.NewPCG(3, 3))
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{ID: fmt.Sprint("item ", i), Position: Position{Offset: int64(i)}}
		items[i].Vector = make([]float32, d)
		for j := range items[i].Vector {
			items[i].Vector[j] = float32(random.NormFloat64())
		}
	}
	return items
}

// Of many tracks beyond those kept, each is not searched for among all others.
func TestManyTracksEnd(t *testing.T) {
	set := Defaults()
	set.TrackTTL = 1 << 30
	items := scattered(6000, 4)
	for i := range items {
		items[i].Label, items[i].Track = fmt.Sprint("class ", i%2), fmt.Sprint("track ", i)
	}
	if half, all := bytesOf(t, set, items[:3000], nil), bytesOf(t, set, items, nil); all > 3*half {
		t.Errorf("3,000 tracks take %d bytes, 6,000 take %d", half, all)
	}
}

// The examples are not listed anew for each class that is rejected.
func TestManyClassesAreRejected(t *testing.T) {
	const classes = 2000
	var examples []taught.Example
	var not []taught.Rejection
	for i, x := range scattered(2*classes, 8) {
		if i%2 == 0 {
			examples = append(examples, taught.Example{ID: x.ID, Label: x.ID, Vector: x.Vector})
			continue
		}
		not = append(not, taught.Rejection{ID: x.ID, Not: []string{examples[i/2].Label}, Vector: x.Vector})
	}
	labels := &taught.Labels{Everyone: examples}
	rejections, _ := taught.NewRejections(not)
	without := bytesOf(t, Defaults(), scattered(20, 8), labels)
	labels = labels.With(taught.Changes{Rejections: rejections})
	if with := bytesOf(t, Defaults(), scattered(20, 8), labels); with > without+8<<20 {
		t.Errorf("%d rejected classes take %d bytes, %d without", classes, with, without)
	}
}

// Rejections of many classes each are not listed with each of them, nor compared with items once for each.
func TestManyClassesAreRejectedTogether(t *testing.T) {
	const classes, rejections = 100, 500
	labels := &taught.Labels{}
	var all []string
	for _, x := range scattered(classes, 8) {
		labels.Everyone = append(labels.Everyone, taught.Example{ID: x.ID, Label: x.ID, Vector: x.Vector})
		all = append(all, x.ID)
	}
	bytes := func(not []string) uint64 {
		var list []taught.Rejection
		for _, x := range scattered(classes+rejections, 8)[classes:] {
			list = append(list, taught.Rejection{ID: x.ID, Not: not, Vector: x.Vector})
		}
		r, _ := taught.NewRejections(list)
		return bytesOf(t, Defaults(), scattered(20, 8), labels.With(taught.Changes{Rejections: r}))
	}
	if one, each := bytes(all[:1]), bytes(all); each > one+4<<20 {
		t.Errorf("%d rejections of a class take %d bytes, of %d classes %d", rejections, one, classes, each)
	}
}

// An episode of any size, of which no two items are alike, is compared with a bounded number of clusters.
func TestManyClustersAreFound(t *testing.T) {
	set := Defaults()
	set.Discover, set.DiscoverDistance, set.Time = true, 1e-6, false
	items := scattered(10_000, 8)
	if half, all := bytesOf(t, set, items[:5_000], nil), bytesOf(t, set, items, nil); all > 3*half {
		t.Errorf("5,000 items take %d bytes, 10,000 take %d", half, all)
	}
}

// A long episode of many classes, with a value for each item and class in many tables, is answered in parts,
// as if they were episodes.
func TestLongEpisodesOfManyClasses(t *testing.T) {
	const n = 4200 // a little more than one part
	items := scattered(n, 4)
	for i := range items {
		if i%2 == 0 {
			items[i].Label = items[i].ID
		}
	}
	whole, parts, e := New("s", Defaults()), New("s", Defaults()), new(Engine)
	got, report := answer(t, whole, e, items, nil)
	if values := cap(e.problem.admitted); values > mostValues {
		t.Errorf("a table of %d values for %d items of %d classes", values, n, n/2)
	}
	for from := 0; from < n; from += n / 2 {
		want, of := answer(t, parts, nil, items[from:from+n/2], nil)
		if !reflect.DeepEqual(got[from:from+n/2], want) {
			t.Errorf("items from %d: other answers than an episode of their own has", from)
		}
		report.Count, report.Sweeps = report.Count-of.Count, report.Sweeps-of.Sweeps
	}
	if report.Count != 0 || report.Sweeps != 0 || report.Episode != parts.Episode() {
		t.Errorf("%+v is left of the report", report)
	}
	if !reflect.DeepEqual(whole.State(), parts.State()) {
		t.Error("something else was learned")
	}
}

// TestLabelsAreInMemoryOnce: streams that are answered with many versions of many labels, all versions still
// held, take little memory beside the labels themselves.
func TestLabelsAreInMemoryOnce(t *testing.T) {
	const classes, each, d, versions = 40, 500, 256, 24
	set := settings(t)
	set.Solver.Check, set.Solver.MetricRank = false, 0
	f, e := newCamera(1, classes, d, 1), new(Engine)
	labels := f.labels(each).With(taught.Changes{})
	held := []*taught.Labels{labels}
	var streams []*Stream
	before := liveBytes()
	for i := range versions {
		items, of := f.episode(4, 0)
		lesson := taught.Example{ID: fmt.Sprint("lesson", i), Label: of[0], Vector: items[0].Vector}
		labels = labels.With(taught.Changes{Examples: []taught.Change{{Example: lesson}}})
		held, streams = append(held, labels), append(streams, New(fmt.Sprint("cam", i), set))
		answer(t, streams[i], e, items, labels)
		streams[i].Learn()
	}
	if more, once := liveBytes()-before, int64(classes*each*d*4); more > once {
		t.Errorf("%d KiB more than the labels, which take %d KiB", more>>10, once>>10)
	}
	runtime.KeepAlive(held)
	runtime.KeepAlive(streams)
}

func liveBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
