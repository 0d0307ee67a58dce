package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// bursts draws items that come in runs of one class each, or in a random order.
func (f *camera) bursts(n, run int) (items []Item, truth []string) {
	for i := range n {
		c := f.random.IntN(len(f.centres))
		if i%run > 0 {
			truth = append(truth, truth[i-1])
		} else {
			truth = append(truth, label(c))
		}
		fmt.Sscanf(truth[i], "class-%d", &c)
		items = append(
			items,
			Item{ID: fmt.Sprintf("i%d", f.offset), Vector: f.vector(c), Position: Position{Offset: f.offset, Object: -1}},
		)
		f.offset++
	}
	return items, truth
}

// TestCoherence: a stream whose items come in runs learns that its order matters, one in a random order that
// it does not.
func TestCoherence(t *testing.T) {
	for run, want := range map[int][2]float64{1: {0, .15}, 10: {.35, 1}} {
		set := settings(t)
		f := newCamera(3, 12, 24, 1)
		s, e := New("any", set), new(Engine)
		labels := f.labels(1)
		for range 8 {
			items, _ := f.bursts(60, run)
			answer(t, s, e, items, labels)
		}
		if c := s.timeline.Coherence(); c < want[0] || c > want[1] {
			t.Errorf("runs of %d: coherence %.2f, not between %g and %g", run, c, want[0], want[1])
		}
	}
}

// TestTaughtEvidenceSpreadsInTime: where objects come in runs, a taught item is evidence for those around it,
// in its own episode and in the next one.
func TestTaughtEvidenceSpreadsInTime(t *testing.T) {
	wrong := map[bool]int{}
	for _, timed := range []bool{false, true} {
		for seed := range uint64(6) {
			set := settings(t)
			set.Time = timed
			f := newCamera(seed, 10, 24, 1.8)
			s, e := New("any", set), new(Engine)
			labels := f.labels(1)
			for range 8 {
				items, truth := f.bursts(60, 15)
				for i := 4; i < len(items); i += 15 {
					items[i].Label = truth[i]
				}
				answers, _ := answer(t, s, e, items, labels)
				for i, a := range answers {
					if a.Label != truth[i] {
						wrong[timed]++
					}
				}
			}
		}
	}
	if wrong[true] > wrong[false]*85/100 {
		t.Errorf("%d wrong answers with time, %d without", wrong[true], wrong[false])
	}
}

// TestItemsOfOneFrameAreTwoThings: two objects of one frame get two labels, though both look the same; two
// boxes around one object may share theirs.
func TestItemsOfOneFrameAreTwoThings(t *testing.T) {
	set := settings(t)
	f := newCamera(7, 6, 24, .3)
	e := new(Engine)
	labels := f.labels(1)
	between := func(share float32) []float32 { // of class 0, and a little of class 1
		v := f.vector(0)
		for j := range v {
			v[j] += share * (f.centres[1][j] - f.centres[0][j])
		}
		return v
	}
	for name, c := range map[string]struct {
		frame  string
		second func(first []float32) []float32
		same   bool
	}{
		"no frame":     {"", func([]float32) []float32 { return between(.38) }, true},
		"two things":   {"1", func([]float32) []float32 { return between(.38) }, false},
		"the same box": {"1", func(first []float32) []float32 { return slices.Clone(first) }, true},
	} {
		items, _ := f.bursts(30, 1)
		first := between(0)
		items[10].Vector, items[11].Vector = first, c.second(first)
		items[10].Frame, items[11].Frame = c.frame, c.frame
		answers, _ := answer(t, New("cam", set), e, items, labels)
		if answers[10].Label != label(0) || (answers[11].Label == label(0)) != c.same {
			t.Errorf("%s: %s and %s", name, answers[10].Label, answers[11].Label)
		}
	}
}

// TestTaughtEvidenceFollowsATrack: a label given to an item of a track is evidence for the track's later
// items, wherever they come, until the track expires.
func TestTaughtEvidenceFollowsATrack(t *testing.T) {
	for ttl, follows := range map[int]bool{1000: true, 10: false} {
		set := settings(t)
		set.TrackTTL = ttl
		f := newCamera(8, 6, 24, .3)
		s, e := New("cam", set), new(Engine)
		labels := f.labels(1)
		strange := newCamera(99, 1, 24, 0).vector(0) // unlike all labelled items
		for episode := range 4 {
			items, _ := f.bursts(30, 1)
			at := 7 + 5*episode
			items[at].Vector = slices.Clone(strange)
			for j := range items[at].Vector {
				items[at].Vector[j] += float32(.8 * f.random.NormFloat64())
			}
			if episode != 2 {
				items[at].Track = "t"
			}
			if episode == 0 {
				items[at].Label = label(3)
			}
			answer(t, s, e, items, labels)
			if known := s.timeline.tracks["t"].label != ""; episode == 3 && known != follows {
				t.Errorf("ttl %d: the track's label is remembered: %t", ttl, known)
			}
		}
	}
}

// TestRelatedEpisodesDescend: with any frames and tracks, right or wrong, R never rises.
func TestRelatedEpisodesDescend(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 3))
		set := settings(t)
		set.FrameWeight = 20 * random.Float64()
		f := newCamera(seed, 2+random.IntN(6), 16, 2)
		s, e := New("cam", set), new(Engine)
		labels := f.labels(1)
		for range 5 {
			items, _ := f.episode(2+random.IntN(50), .1)
			for i := range items {
				items[i].Frame, items[i].Track = fmt.Sprint(random.IntN(4)), fmt.Sprint(random.IntN(6))
			}
			answer(t, s, e, items, labels) // fails on a rise
		}
	}
}

// TestTracksThatSwitchDoNoHarm: tracks help, and do no harm if one item in twenty has the track of another
// object, whether untaught or with labels that follow the tracks.
func TestTracksThatSwitchDoNoHarm(t *testing.T) {
	for _, taught := range []int{0, 25} { // one item in this many
		wrong := map[string]int{}
		for _, tracks := range []string{"none", "true", "switching"} {
			for seed := range uint64(3) {
				set := settings(t)
				f := newCamera(seed, 10, 24, 2)
				s, e := New("any", set), new(Engine)
				labels := f.labels(1)
				random := rand.New(rand.NewPCG(seed, 5))
				for episode := range 8 {
					items, truth := f.bursts(60, 15)
					for i := range items {
						of := truth[i]
						if tracks == "switching" && random.IntN(20) == 0 {
							of = truth[random.IntN(len(truth))]
						}
						if tracks != "none" { // the tracker loses its objects after two episodes
							items[i].Track = fmt.Sprint(of, episode/2)
						}
						if taught > 0 && i%taught == 4 {
							items[i].Label = truth[i]
						}
					}
					answers, _ := answer(t, s, e, items, labels)
					for i, a := range answers {
						if a.Label != truth[i] {
							wrong[tracks]++
						}
					}
				}
			}
		}
		if wrong["true"] > wrong["none"] || wrong["switching"] > wrong["none"] {
			t.Errorf("taught each %d: wrong answers by tracks: %v", taught, wrong)
		}
	}
}

// TestLeftOutItemsKeepTheirFrames: the trial without labels uses the frames of the episode. The distances of
// the items are measured for the trial and for the solve; the order is learned only once.
func TestLeftOutItemsKeepTheirFrames(t *testing.T) {
	for frame, want := range map[string]string{"": label(0), "1": label(1)} {
		set := settings(t)
		f := newCamera(7, 6, 24, .3)
		s, e := New("cam", set), new(Engine)
		labels := f.labels(1)
		items, _ := f.bursts(30, 1)
		answer(t, s, e, items, labels)
		items, _ = f.bursts(30, 1)
		items[10].Vector, items[11].Vector = f.vector(0), f.vector(0)
		for j := range items[11].Vector { // a little of class 1
			items[11].Vector[j] += .45 * (f.centres[1][j] - f.centres[0][j])
		}
		items[10].Frame, items[11].Frame, items[11].Label = frame, frame, label(1)
		weight := s.timeline.weight
		answer(t, s, e, items, labels)
		if tested := s.calibration.answers; len(tested) != 1 || tested[0].predicted != want {
			t.Errorf("frame %q: %+v, not answered %s", frame, tested, want)
		}
		if learned := s.timeline.weight - episodeKept*weight; math.Abs(learned-1) > 1e-9 {
			t.Errorf("the order weighs %g more, not one episode", learned)
		}
	}
}

// TestNewestLabelOfATrackCounts: of the labels given to a track the newest stands for it.
func TestNewestLabelOfATrackCounts(t *testing.T) {
	f := newCamera(7, 4, 24, .3)
	s, e, labels := New("cam", settings(t)), new(Engine), f.labels(2)
	items, _ := f.bursts(12, 3)
	for i := range items {
		items[i].Track = "t"
	}
	items[2].Label, items[7].Label = label(0), label(1)
	answer(t, s, e, items, labels)
	if got := s.timeline.tracks["t"].label; got != label(1) {
		t.Errorf("the track is %q", got)
	}
}
