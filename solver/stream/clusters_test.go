package stream

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// crowded are items of classes that differ little beside what they all have in common: class by class in
// turn, three of a frame where framed.
func crowded(
	random *rand.Rand, classes, count, d int, spread float64, framed bool,
) (items []Item, truth []int) {
	centres := make([][]float64, classes)
	for c := range centres {
		centres[c] = make([]float64, d)
		for j := range centres[c] {
			centres[c][j] = random.NormFloat64()
		}
	}
	for i := range count {
		c := i % classes
		v := make([]float32, d)
		for j := range v {
			v[j] = float32(4 + centres[c][j] + spread*random.NormFloat64())
		}
		item := Item{ID: fmt.Sprint(i), Vector: v, Position: Position{Offset: int64(i), Object: -1}}
		if framed {
			item.Frame = fmt.Sprint(i / 3)
		}
		items, truth = append(items, item), append(truth, c)
	}
	return items, truth
}

// discovered answers the items without labels and returns, for each class, its labels and, for each label,
// its classes.
func discovered(t *testing.T, set Settings, items []Item, truth []int) (
	labels map[int]map[string]bool, classes map[string]map[int]bool,
) {
	t.Helper()
	s, e := New("camera", set), engine(t, set)
	labels, classes = map[int]map[string]bool{}, map[string]map[int]bool{}
	for from := 0; from < len(items); from += 50 {
		to := min(from+50, len(items))
		answers, _ := answer(t, s, e, items[from:to], nil)
		if from == 0 {
			continue // what rows have in common is seen only now
		}
		for i, a := range answers {
			c := truth[from+i]
			if labels[c] == nil {
				labels[c] = map[string]bool{}
			}
			if classes[a.Label] == nil {
				classes[a.Label] = map[int]bool{}
			}
			labels[c][a.Label], classes[a.Label][c] = true, true
		}
	}
	return labels, classes
}

// What all rows have in common says nothing of which is which.
func TestClustersOfCrowdedRows(t *testing.T) {
	items, truth := crowded(rand.New(rand.NewPCG(3, 1)), 5, 300, 128, .7, false)
	labels, classes := discovered(t, settings(t), items, truth)
	for c, of := range labels {
		if len(of) != 1 {
			t.Errorf("class %d has clusters %v", c, of)
		}
	}
	for label, of := range classes {
		if len(of) != 1 {
			t.Errorf("%s holds classes %v", label, of)
		}
	}
}

// Where the things of a frame are less alike than usual, one thing may vary more; where they are more
// alike, nothing changes.
func TestRoomOfFrames(t *testing.T) {
	for _, c := range []struct {
		deviation float64
		pairs     float64
		least     float64
		most      float64
	}{
		{.1, 0, 1, 1},
		{.1, 1e6, 1.37, 1.39},
		{.1, 100, 1.05, 1.2},
		{.25, 1e6, 1, 1},
		{.5, 1e6, 1, 1},
		{0, 1e6, 1.57, 1.59},
	} {
		l := likeness{c.deviation * c.deviation * c.pairs, c.pairs}
		if room := l.room(); room < c.least || room > c.most {
			t.Errorf("%g pairs of deviation %g: room %.3f, want %g to %g", c.pairs, c.deviation, room, c.least, c.most)
		}
	}
}

// Frames tell how far one thing may vary: with them a class that varies much has fewer clusters.
func TestClustersLearnFromFrames(t *testing.T) {
	count := func(framed bool) int {
		items, truth := crowded(rand.New(rand.NewPCG(3, 2)), 6, 300, 128, 1.15, framed)
		_, classes := discovered(t, settings(t), items, truth)
		return len(classes)
	}
	if with, without := count(true), count(false); with*2 > without {
		t.Errorf("%d clusters with frames, %d without", with, without)
	}
}

// A cluster that was just seen reaches further than one that has long gone.
func TestReach(t *testing.T) {
	set := clusters{list: []*cluster{{seen: 20}, {seen: 15}, {seen: 1}}}
	got := set.reach(20)
	last, middle, least := reachLast, reachLast-reachLoss/2., reachLast-reachLoss
	if got[0] != last || got[1] != middle || !(got[2] < got[1]) || got[2] < least {
		t.Errorf("reach %v", got)
	}
	// A row between two clusters of which one has gone: the nearer one is out of its reach, the other one not.
	space := &clusterSpace{centre: make([]float32, 2), length: 1, birth: .5}
	set = clusters{list: []*cluster{{mean: []float32{0, 0}, mass: 1}, {mean: []float32{1.42, 0}, mass: 1}}}
	row := []float32{.71, 0} // .5041 from both
	for name, c := range map[string]struct {
		reach []float64
		want  int
	}{"alike": {nil, 3}, "one was just here": {[]float64{.95, 1.03}, 2}} {
		if all, _ := set.propose(space, c.reach, row, []string{""}, 1, 2); len(all) != c.want {
			t.Errorf("%s: %d clusters, not %d", name, len(all), c.want)
		}
	}
}
