package stream

import "github.com/slkstream/slkstream/solver"

// recurrence is how far a stream's classes come again: of the mass of about the last ten episodes, the part that the
// episodes before had led to expect. Before a street camera nine items in ten are of classes that were just there; on a table
// where one thing is shown after another, one in five, and to expect the others there as well costs more than it brings.
type recurrence struct {
	again float64 // mass of classes that came again
	mass  float64 // all
}

// recurrenceKept is what an episode still counts for one episode later.
const recurrenceKept = .9

// share is the mean of again out of mass after one item of each kind: a stream that has shown nothing yet has a half.
func (r recurrence) share() float64 { return (r.again + 1) / (r.mass + 2) }

// proportions are pi0, what an episode is expected to hold: with the recurrence w, w of what was lately seen, and 1 - w of
// anything.
func (s *Stream) proportions(names []string) []float64 {
	out := make([]float64, len(names))
	w, lately := s.recurrence.share(), s.lately(names)
	for c := range out {
		out[c] = 1 / float64(len(names))
		if lately != nil {
			out[c] = w*lately[c] + (1-w)/float64(len(names))
		}
	}
	return out
}

// lately is the share of each class in what was seen, half of it in the last episode; nil where nothing was seen of any.
func (s *Stream) lately(names []string) []float64 {
	counts := make([]float64, len(names))
	var sum float64
	for c, name := range names {
		if k := s.classes[name]; k != nil {
			counts[c] = k.count
			sum += k.count
		}
	}
	if sum == 0 {
		return nil
	}
	for c := range counts {
		counts[c] /= sum
	}
	return counts
}

// learnProportions takes in what an episode held. How much of it had come again is one step of expectation maximisation: a
// class's mass is shared between the two reasons for which it was expected.
func (s *Stream) learnProportions(p *problem, r *solver.Result, items int) {
	masses := make([]float64, p.K)
	for i := range items {
		for c, v := range r.S[i*p.K : i*p.K+p.K] {
			masses[c] += float64(v)
		}
	}
	if lately := s.lately(p.names); lately != nil {
		w := s.recurrence.share()
		next := recurrence{again: recurrenceKept * s.recurrence.again, mass: recurrenceKept * s.recurrence.mass}
		for c, mass := range masses {
			again := w * lately[c]
			next.again += mass * again / (again + (1-w)/float64(p.K))
			next.mass += mass
		}
		s.recurrence = next
	}
	for c, name := range p.names {
		k := s.own(name)
		k.count = k.count/2 + masses[c]
	}
}
