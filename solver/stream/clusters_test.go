package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
)

// crowded returns items of classes that differ little compared with what they have in common: class by class
// in turn, three to a frame if framed.
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

// discovered answers the items without labels and returns the labels of each class and the classes
// of each label.
func discovered(t *testing.T, set Settings, items []Item, truth []int) (
	labels map[int]map[string]bool, classes map[string]map[int]bool,
) {
	t.Helper()
	s, e := New("camera", set), new(Engine)
	labels, classes = map[int]map[string]bool{}, map[string]map[int]bool{}
	for from := 0; from < len(items); from += 50 {
		to := min(from+50, len(items))
		answers, _ := answer(t, s, e, items[from:to], nil)
		if from == 0 {
			continue // the centre of the rows is known from here on
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

// TestClustersOfCrowdedRows: what all rows have in common does not distinguish clusters.
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

// TestClustersLearnFromFrames: frames show how much one object may vary: with them a class that varies much
// has fewer clusters.
func TestClustersLearnFromFrames(t *testing.T) {
	count := func(framed bool) int {
		items, truth := crowded(rand.New(rand.NewPCG(3, 2)), 6, 300, 128, 1.5, framed)
		_, classes := discovered(t, settings(t), items, truth)
		return len(classes)
	}
	if with, without := count(true), count(false); with*2 > without {
		t.Errorf("%d clusters with frames, %d without", with, without)
	}
}

// TestClustersOfFramesAndTracks: two items of one frame have different clusters, however similar, unless they
// are almost identical. Items of one track have the same cluster.
func TestClustersOfFramesAndTracks(t *testing.T) {
	for name, c := range map[string]struct {
		frame, track [2]string
		apart        float32
		want         int
	}{
		"alike":                   {apart: .5, want: 1},
		"of one frame":            {frame: [2]string{"f", "f"}, apart: .6, want: 2},
		"of two frames":           {frame: [2]string{"f", "g"}, apart: .5, want: 1},
		"of one frame, and twins": {frame: [2]string{"f", "f"}, apart: .05, want: 1},
		"unlike":                  {apart: 5, want: 2},
		"unlike, of one track":    {track: [2]string{"t", "t"}, apart: 5, want: 1},
		"unlike, of two tracks":   {track: [2]string{"t", "u"}, apart: 5, want: 2},
		"of one frame and of one track": {
			frame: [2]string{"f", "f"}, track: [2]string{"t", "t"}, apart: .6, want: 2,
		},
	} {
		set := settings(t)
		items, _ := crowded(rand.New(rand.NewPCG(5, 5)), 20, 40, 64, .1, false)
		pair := []Item{items[0], items[0]}
		for i := range pair {
			pair[i].Frame, pair[i].Track = c.frame[i], c.track[i]
		}
		random := rand.New(rand.NewPCG(5, 6))
		pair[1].Vector = slices.Clone(pair[0].Vector)
		for j := range pair[1].Vector {
			pair[1].Vector[j] += c.apart * float32(random.NormFloat64())
		}
		for at := range 5 { // next to each other, or not
			episode := slices.Insert(slices.Clone(items[1:20]), 0, pair[0])
			episode = slices.Insert(episode, 1+4*at, pair[1])
			s, e := New("camera", set), new(Engine)
			answers, _ := answer(t, s, e, episode, nil)
			if one := answers[0].Label == answers[1+4*at].Label; one != (c.want == 1) {
				t.Errorf("%s, %d positions apart: %s and %s", name, 1+4*at, answers[0].Label, answers[1+4*at].Label)
			}
		}
	}
}

// TestClustersKeepTheirIDs: an object that recurs gets its earlier id, and ids do not depend on how a stream
// is cut into episodes, as long as these have a few items of each object.
func TestClustersKeepTheirIDs(t *testing.T) {
	for _, size := range []int{50, 300, 600} {
		set := settings(t)
		items, truth := crowded(rand.New(rand.NewPCG(7, 1)), 10, 1200, 64, .5, false)
		s, e := New("camera", set), new(Engine)
		labels := map[int]map[string]int{}
		for from := 0; from < len(items); from += size {
			part := items[from : from+size]
			if from/size%3 == 1 { // only half of the classes come
				part = slices.Clone(part)
				part = slices.DeleteFunc(part, func(i Item) bool { return truth[i.Position.Offset]%2 == 1 })
			}
			answers, report := answer(t, s, e, part, nil)
			if report.Rises != 0 || len(answers) != len(part) {
				t.Fatalf("%d answers to %d items", len(answers), len(part))
			}
			for i, a := range answers {
				if !(a.Confidence > 0 && a.Confidence <= 1) || a.Calibrated {
					t.Fatalf("answer %+v", a)
				}
				if of := truth[part[i].Position.Offset]; from > 0 {
					if labels[of] == nil {
						labels[of] = map[string]int{}
					}
					labels[of][a.Label]++
				}
			}
		}
		if found := len(s.Clusters()); found > 12 {
			t.Errorf("episodes of %d: %d clusters of ten things", size, found)
		}
		for c, of := range labels {
			if len(of) != 1 {
				t.Errorf("episodes of %d: thing %d has %v", size, c, of)
			}
		}
	}
}

// TestClustersOfCopies: rows without differences, such as copies of one picture, are answered
// like any others.
func TestClustersOfCopies(t *testing.T) {
	set := settings(t)
	items, _ := crowded(rand.New(rand.NewPCG(9, 1)), 1, 1, 16, 0, false)
	for _, count := range []int{1, 2, 257, 700} {
		s, e := New("camera", set), new(Engine)
		for range 3 {
			answers, _ := answer(t, s, e, slices.Repeat(items, count), nil)
			for _, a := range answers {
				if a.Label != "cluster-0" || !(a.Confidence > 0) {
					t.Fatalf("%d copies: %+v", count, a)
				}
			}
		}
	}
}

// TestClustersOfShortEpisodes: an object that turns while it is seen keeps its cluster, although each episode
// shows too little of it to link its views, and the stream is restored after each.
func TestClustersOfShortEpisodes(t *testing.T) {
	const objects, sight, d, atOnce, episode = 24, 30, 64, 3, 5
	random := rand.New(rand.NewPCG(7, 1))
	views := make([][2][]float64, objects)
	for c := range views {
		for side := range views[c] {
			for range d {
				views[c][side] = append(views[c][side], random.NormFloat64())
			}
		}
	}
	var items []Item
	var truth []int
	for first := 0; first < objects; first += atOnce {
		for i := range sight {
			for c := first; c < first+atOnce; c++ {
				turned := .9 * float64(i) / (sight - 1)
				v := make([]float32, d)
				for j := range v {
					v[j] = float32(3 + (1-turned)*views[c][0][j] + turned*views[c][1][j] + .4*random.NormFloat64())
				}
				at := len(items)
				items = append(items, Item{ID: fmt.Sprint(at), Vector: v, Position: Position{Offset: int64(at), Object: -1}})
				truth = append(truth, c)
			}
		}
	}
	s := New("camera", settings(t))
	labels := make([]map[string]bool, objects)
	for c := range labels {
		labels[c] = map[string]bool{}
	}
	for from := 0; from < len(items); from += episode {
		answers, _ := answer(t, s, new(Engine), items[from:from+episode], nil)
		restored, err := Restore(settings(t), s.State())
		if err != nil {
			t.Fatal(err)
		}
		s = restored
		for i, a := range answers {
			labels[truth[from+i]][a.Label] = true
		}
	}
	split := 0
	for _, of := range labels[2*atOnce:] { // the centre of the rows is known from then on
		split += len(of) - 1
	}
	if split > objects/4 { // without the items before an episode more than three times an object
		t.Errorf("%d objects are split %d times", objects-2*atOnce, split)
	}
	kept := func(p Piece) bool { return p.Name == "before" }
	for label := range labels[objects-1] {
		if !slices.ContainsFunc(s.State(), kept) || !s.Reset(label) || slices.ContainsFunc(s.State(), kept) {
			t.Errorf("a cluster that is forgotten leaves its last items")
		}
	}
}

// Clusters are those of the answers, with means of length 1 at most that the caller may change.
func TestClustersOfAnswers(t *testing.T) {
	items, _ := crowded(rand.New(rand.NewPCG(3, 1)), 3, 60, 32, .3, false)
	s := New("camera", settings(t))
	answers, _ := answer(t, s, new(Engine), items, nil)
	counts := map[string]int64{}
	for _, a := range answers {
		counts[a.Class]++
	}
	found := s.Clusters()
	if len(found) != len(counts) {
		t.Fatalf("%d clusters found, %d in answers", len(found), len(counts))
	}
	for _, f := range found {
		if f.Items != counts[f.Cluster] || f.Label != f.Cluster || f.Seen != 1 {
			t.Errorf("%s has %d items of %d, label %q, seen in episode %d", f.Cluster, f.Items, counts[f.Cluster], f.Label, f.Seen)
		}
		clear(f.Mean)
	}
	for _, f := range s.Clusters() {
		if length := kernel.Dot(f.Mean, f.Mean); length == 0 || length > 1.001 {
			t.Errorf("the mean of %s has the squared length %v", f.Cluster, length)
		}
	}
}
