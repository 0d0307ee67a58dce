package evaluate

import (
	"context"
	"fmt"
	"os"
	"testing"

	"slkstream/solver"
)

func TestProbe(t *testing.T) {
	var mixes []Mix
	for _, n := range []string{"balanced", "dirichlet:2", "dirichlet:0.5", "absent"} {
		m, _ := ParseMix(n)
		mixes = append(mixes, m)
	}
	var cs []Candidate
	for _, p := range []string{"clamped", "default"} {
		s, _ := solver.Preset(p)
		cs = append(cs, Candidate{s.Method, p, s})
	}
	core, skew := make([]float64, 2), make([]float64, 2)
	for _, n := range []string{"clip-dtd", "clip-flowers", "clip-caltech101", "grocery", "omniglot28"} {
		set, err := ReadSet(os.Getenv("DATA") + "/" + n)
		if err != nil {
			t.Fatal(err)
		}
		f := FewShot{Ways: 5, Shots: []int{1, 5}, Mixes: mixes, Tasks: 300, Seed: 1, Candidates: cs}
		rs, err := f.Run(context.Background(), set)
		if err != nil {
			t.Fatal(err)
		}
		c, s := make([]float64, 2), make([]float64, 2)
		for i, r := range rs {
			if r.Mix == "balanced" || r.Mix == "dirichlet:2" {
				c[i%2] += r.Accuracy / 4
			} else {
				s[i%2] += r.Accuracy / 4
			}
			fmt.Printf("%s %d %s %s %.2f +- %.2f %.0fus it %.1f lost %d %v\n", r.Data, r.Shots, r.Mix, r.Preset, r.Accuracy, r.CI95, r.EpisodeMicros, r.Iterations, r.LostSupports, r.Paired)
		}
		fmt.Printf("%s core %.2f skewed %.2f\n", n, c, s)
		for i := range core {
			core[i] += c[i] / 5
			skew[i] += s[i] / 5
		}
	}
	fmt.Printf("core %.2f skewed %.2f\n", core, skew)
}
