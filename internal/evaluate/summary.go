package evaluate

import (
	"fmt"
	"math"
	"slices"
)

// Summary averages few-shot results into the means used in comparisons: over sets with equal weight, then
// over regimes (shots and mix).
type Summary struct {
	regimes []regime
	order   []string // candidates; the others are compared with the first
	names   map[string]Candidate
	cells   map[string]map[regime][]Estimate // candidate -> regime -> sets
	versus  map[string]map[regime][]Estimate
}

type regime struct {
	shots int
	mix   string
}

// NewSummary returns an empty Summary.
func NewSummary() *Summary {
	return &Summary{
		names: map[string]Candidate{}, cells: map[string]map[regime][]Estimate{},
		versus: map[string]map[regime][]Estimate{},
	}
}

// Add takes one result.
func (s *Summary) Add(r FewShotResult) {
	name, cell := r.Preset+"/"+r.Method, regime{r.Shots, r.Mix}
	if s.cells[name] == nil {
		s.order, s.names[name] = append(s.order, name), Candidate{Method: r.Method, Preset: r.Preset}
		s.cells[name], s.versus[name] = map[regime][]Estimate{}, map[regime][]Estimate{}
	}
	if !slices.Contains(s.regimes, cell) {
		s.regimes = append(s.regimes, cell)
	}
	s.cells[name][cell] = append(s.cells[name][cell], Estimate{r.Accuracy, r.CI95})
	if r.Paired != nil {
		s.versus[name][cell] = append(s.versus[name][cell], Estimate{r.Paired.Difference, r.Paired.CI95})
	}
}

// MeanResult is a mean for one candidate.
type MeanResult struct {
	Cells          string // "1-shot balanced", "core", "all"
	Preset, Method string
	Accuracy       Estimate
	Versus         *Estimate // paired difference from the first candidate
}

// Means returns the means of each regime and, if all their regimes are present, of core (1- and 5-shot,
// balanced and Dirichlet(2)), of skewed (1- and 5-shot, Dirichlet(0.5) and absent), and of everything.
func (s *Summary) Means() []MeanResult {
	var out []MeanResult
	add := func(name string, regimes []regime) {
		for _, candidate := range s.order {
			c := s.names[candidate]
			m := MeanResult{
				Cells: name, Preset: c.Preset, Method: c.Method,
				Accuracy: mean(s.cells[candidate], regimes),
			}
			if len(s.versus[candidate]) > 0 {
				v := mean(s.versus[candidate], regimes)
				m.Versus = &v
			}
			out = append(out, m)
		}
	}
	for _, r := range s.regimes {
		add(fmt.Sprintf("%d-shot %s", r.shots, r.mix), []regime{r})
	}
	for _, g := range []struct{ name, a, b string }{
		{"core", "balanced", "dirichlet:2"},
		{"skewed", "dirichlet:0.5", "absent"},
	} {
		group := []regime{{1, g.a}, {5, g.a}, {1, g.b}, {5, g.b}}
		if !slices.ContainsFunc(group, func(r regime) bool { return !slices.Contains(s.regimes, r) }) {
			add(g.name, group)
		}
	}
	if len(s.regimes) > 1 {
		add("all", s.regimes)
	}
	return out
}

// mean returns the mean over sets, then over regimes. Cells are independent, so their variances add.
func mean(cells map[regime][]Estimate, regimes []regime) Estimate {
	var out Estimate
	for _, r := range regimes {
		weight := 1 / float64(len(regimes)*len(cells[r]))
		for _, e := range cells[r] {
			out.Mean += weight * e.Mean
			out.CI95 += weight * weight * e.CI95 * e.CI95
		}
	}
	out.CI95 = math.Sqrt(out.CI95)
	return out
}
