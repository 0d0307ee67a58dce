package evaluate

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// Each update finds blobs, with all classes in the batch and with one: an anchor keeps absent
// classes in place. Alpha-TIM spreads a batch over the classes, and PADDLE joins what differs by
// less than its penalty, as do blobs of few dimensions.
func TestUpdatesFindBlobs(t *testing.T) {
	const d, k, n = 16, 4, 40
	random := rand.New(rand.NewPCG(1, 2))
	row := func(class int) []float32 {
		out := make([]float32, d)
		for j := range out {
			out[j] = float32(.1 * random.NormFloat64())
		}
		out[class]++
		return unitRow(out)
	}
	for _, present := range []int{1, k} {
		var rows []float32
		var labels, truth []int32
		for c := range k {
			rows, labels, truth = append(rows, row(c)...), append(labels, int32(c)), append(truth, int32(c))
		}
		for i := range n {
			c := i % present
			rows, labels, truth = append(rows, row(c)...), append(labels, -1), append(truth, int32(c))
		}
		for _, method := range Updates {
			if method == AlphaTIM && present == 1 || method == PADDLE && present == k {
				continue
			}
			if got := update(method, rows, d, labels, k); !slices.Equal(got, truth) {
				t.Errorf("%s, %d classes present: %v", method, present, got)
			}
		}
	}
}

// A batch of mix few has at most that many classes, and streams of a small alpha have few
// classes per episode.
func TestFewClassesComeTogether(t *testing.T) {
	few := FewShot{
		Ways: 5, Shots: []int{1}, Mixes: mixes(t, "few:1-2", "few:2-3:30"), Tasks: 20, Seed: 1, SplitSeed: 1,
	}
	_, cells, err := few.Draw(digits())
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range cells {
		for _, task := range cell.Tasks {
			there := map[int32]bool{}
			for _, c := range task.Truth[task.Support:] {
				there[c] = true
			}
			mix, queries := cell.Mix, len(task.Rows)-task.Support
			if len(there) < mix.From || len(there) > mix.To || queries != mix.Queries {
				t.Fatalf("%s: %d classes, %d queries", mix.Name, len(there), queries)
			}
		}
	}
	for _, name := range []string{"few:", "few:0-2", "few:3-2", "few:1-2:0", "few:1-2:x"} {
		if _, err := ParseMix(name); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	classes := func(alpha float64) (mean float64) {
		p := plain()
		p.Order, p.Alpha = "dirichlet", alpha
		trial, err := p.Draw(digits(), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, episode := range trial.Episodes {
			there := map[int32]bool{}
			for _, i := range episode {
				there[trial.Items[i].Truth] = true
			}
			mean += float64(len(there)) / float64(len(trial.Episodes))
		}
		return mean
	}
	if a, b := classes(.001), classes(10); a > 4 || b < 8 {
		t.Errorf("classes an episode: %.1f and %.1f", a, b)
	}
}

// A rival's updates answer tasks and a stream.
func TestUpdatesOfTasksAndStreams(t *testing.T) {
	few := FewShot{Ways: 4, Shots: []int{5}, Mixes: mixes(t, "few:1-3"), Tasks: 4, Seed: 1, SplitSeed: 1}
	for _, method := range append([]string{"slk-means"}, Updates...) {
		c := Candidate{Method: method, Settings: stage(t, plain(), true).Settings.Solver}
		few.Candidates = append(few.Candidates, c)
	}
	results, err := few.Run(context.Background(), digits())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Accuracy < 50 {
			t.Errorf("%s: %.1f", r.Method, r.Accuracy)
		}
	}
	set := drawnSet(300, 6, 16)
	for _, method := range []string{TransCLIP, StatA, AlphaTIM} { // PADDLE joins what has 16 dimensions
		s := stage(t, plain(), true)
		s.Method = method
		r, err := s.Run(context.Background(), set, 1)
		if err != nil {
			t.Fatal(err)
		}
		if *r.Accuracy < .7 || r.UnknownAUROC != nil {
			t.Errorf("%s: %.3f", method, *r.Accuracy)
		}
	}
}
