package evaluate

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/solver"
)

// Trials runs methods over streams or files drawn from sets, with each number of shots and Count seeds.
type Trials struct {
	Sets     []*Set
	Shots    []int
	Count    int
	Seed     uint64 // of the first trial; the others follow
	Protocol StreamProtocol
	Progress func(done, of int)

	means []*trialMean
}

// Draw draws every trial once, so that a fault in the last is known before the work starts, and exports it to
// folder(shots) if that is not empty.
func (t *Trials) Draw(folder func(shots int) string) error {
	return t.each(1, func(set *Set, p StreamProtocol, seed uint64, _ int) error {
		drawn, err := p.Draw(set, seed)
		if into := folder(p.Shots); err == nil && into != "" {
			err = ExportStream(into, drawn, seed)
		}
		return err
	})
}

// Streams passes the result of each run on each stream to take.
func (t *Trials) Streams(ctx context.Context, runs []Stream, take func(StreamResult) error) error {
	return t.each(len(runs), func(set *Set, p StreamProtocol, seed uint64, run int) error {
		s := runs[run]
		s.Protocol, s.First = p, true
		s.Settings.Discover = p.Shots == 0
		r, err := s.Run(ctx, set, seed)
		if err != nil {
			return err
		}
		score := r.Accuracy
		if score == nil {
			score = r.NMI
		}
		t.add(r.Data, r.Shots, r.Preset, r.Method, score)
		return take(r)
	})
}

// Files passes the result of each method on each file to take.
func (t *Trials) Files(ctx context.Context, f File, methods []string, take func(FileResult) error) error {
	return t.each(len(methods), func(set *Set, p StreamProtocol, seed uint64, run int) error {
		f.Protocol, f.Method = p, methods[run]
		r, err := f.Run(ctx, set, seed)
		if err != nil {
			return err
		}
		t.add(r.Data, r.Shots, "", r.Method, &r.Accuracy)
		return take(r)
	})
}

// Measure returns a Tune.Measure: the accuracy of settings on each trial, as many as asked.
func (t *Trials) Measure(
	accuracy func(context.Context, solver.Settings, StreamProtocol, *Set, uint64) (float64, error),
) func(context.Context, solver.Settings, int) ([]float64, error) {
	return func(ctx context.Context, s solver.Settings, units int) (scores []float64, err error) {
		all := *t
		all.Count = units
		err = all.each(1, func(set *Set, p StreamProtocol, seed uint64, _ int) error {
			right, err := accuracy(ctx, s, p, set, seed)
			scores = append(scores, 100*right)
			return err
		})
		return scores, err
	}
}

// each visits the trials: by set, shots, run and seed.
func (t *Trials) each(runs int, visit func(set *Set, p StreamProtocol, seed uint64, run int) error) error {
	done, total := 0, len(t.Sets)*len(t.Shots)*runs*t.Count
	for _, set := range t.Sets {
		for _, n := range t.Shots {
			p := t.Protocol
			p.Shots = n
			for run := range runs {
				for trial := range uint64(t.Count) {
					if err := visit(set, p, t.Seed+trial, run); err != nil {
						return err
					}
					if done++; t.Progress != nil {
						t.Progress(done, total)
					}
				}
			}
		}
	}
	return nil
}

// trialMean collects the scores of one run over its trials.
type trialMean struct {
	data, preset, method string
	shots                int
	values               []float64
	first                *trialMean // the first run of the same data and shots; nil: this one
}

func (t *Trials) add(data string, shots int, preset, method string, score *float64) {
	if score == nil {
		return
	}
	last := &trialMean{}
	if n := len(t.means); n > 0 {
		last = t.means[n-1]
	}
	if last.data != data || last.shots != shots || last.preset != preset || last.method != method {
		next := &trialMean{data: data, preset: preset, method: method, shots: shots}
		if last.data == data && last.shots == shots {
			if next.first = last.first; next.first == nil {
				next.first = last
			}
		}
		t.means, last = append(t.means, next), next
	}
	last.values = append(last.values, *score)
}

// Means returns a row for each run: the mean over its trials, and the trial-by-trial difference from the
// first run of the same data and shots.
func (t *Trials) Means() (rows []string) {
	for _, m := range t.means {
		var against *Estimate
		if m.first != nil && len(m.values) == len(m.first.values) {
			d := Paired(m.values, m.first.values)
			against = &d
		}
		mean := Average(m.values)
		rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s\t%.3f\t%.3f\t%s\t", m.data, m.shots, m.preset, m.method,
			mean.Mean, mean.CI95, versus(against, 3)))
	}
	return rows
}
