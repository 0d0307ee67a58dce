package solver

import (
	"fmt"
	"strings"
)

// Method selects how prototypes are fitted and whether the graph counts.
type Method string

const (
	SLKMeans      Method = "slk-means"     // means, with the graph
	SLKModes      Method = "slk-ms"        // modes of a kernel density, with the graph
	KMeans        Method = "kmeans"        // means
	KModes        Method = "kmodes"        // modes
	LaplacianShot Method = "laplacianshot" // prototypes fixed by labelled items and prior, with the graph
	Nearest       Method = "nearest"       // the same without the graph
)

// Methods lists every Method. Each of them minimises R: no half-step raises it.
var Methods = func() (all []Method) {
	for _, m := range methods {
		all = append(all, m.name)
	}
	return all
}()

// methodRules say how a Method differs from the others.
type methodRules struct {
	modes bool // prototypes are modes of a kernel density instead of means
	fixed bool // prototypes stay as the labelled items and the prior define them
	graph bool // the Laplacian counts; else lambda is 0, see InForce
}

var methods = []struct {
	name  Method
	rules methodRules
}{
	{SLKMeans, methodRules{graph: true}},
	{SLKModes, methodRules{graph: true, modes: true}},
	{KMeans, methodRules{}},
	{KModes, methodRules{modes: true}},
	{LaplacianShot, methodRules{graph: true, fixed: true}},
	{Nearest, methodRules{fixed: true}},
}

// rules returns the rules of a method, or an error that lists the methods.
func (m Method) rules() (methodRules, error) {
	for _, known := range methods {
		if known.name == m {
			return known.rules, nil
		}
	}
	return methodRules{}, fmt.Errorf("%q: not one of %s", m, list(Methods))
}

// InForce returns the settings with what their method leaves out as 0: Lambda without the graph.
func (s Settings) InForce() Settings {
	if rules, err := s.Method.rules(); err != nil || !rules.graph {
		s.Lambda = 0
	}
	return s
}

// rules returns the rules of the method of valid settings.
func (s *Settings) rules() methodRules {
	rules, err := s.Method.rules()
	if err != nil {
		panic(err) // New validates settings
	}
	return rules
}

// list joins names for an error message.
func list[T ~string](values []T) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}
