package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// learningSection scores the stage on streams: against online learners with the same labels, under harm, and
// in discovery against clustering each episode separately.
var learningSection = section{
	name: "learning", title: "Accuracy over streams",
	run: func(ctx context.Context, b *bench) error {
		folders, forget, err := b.Sets("mot17-05-reid", "grocery", "street", "clip-dtd", "clip-flowers",
			"clip-caltech101")
		if err != nil {
			return err
		}
		defer forget()
		all, err := evaluate.ReadSets(folders)
		if err != nil {
			return err
		}
		var sets, bursts []*evaluate.Set // measured in full; measured only with and without time
		for _, set := range all {
			if strings.HasPrefix(set.Name, "clip-") {
				bursts = append(bursts, set)
			} else {
				sets = append(sets, set)
			}
		}
		l := &learning{
			bench: b, settings: stream.Defaults(), seeds: 5,
			done: map[string][]evaluate.StreamResult{},
		}
		if b.Quick {
			l.seeds = 1
		}
		if err := l.accuracy(ctx, sets); err != nil {
			return err
		}
		if err := l.bars(ctx, sets, bursts); err != nil {
			return err
		}
		if err := l.cost(ctx); err != nil {
			return err
		}
		if err := l.timeCost(ctx, sets); err != nil {
			return err
		}
		return discovery(ctx, b, all)
	},
}

// learning runs streams, each once, however many rows of a table use it.
type learning struct {
	bench    *bench
	settings stream.Settings
	seeds    int
	done     map[string][]evaluate.StreamResult
}

// run answers the stream of each seed, several at once. method is the stage's "default", "untimed", "cold",
// "nearest" or "laplacianshot", or a rival.
func (l *learning) run(ctx context.Context, set *evaluate.Set, method string,
	protocol evaluate.StreamProtocol,
) ([]evaluate.StreamResult, error) {
	plain := protocol
	plain.Frames = nil
	key := fmt.Sprintf("%s %s %+v", set.Name, method, plain)
	if results, ok := l.done[key]; ok {
		return results, nil
	}
	stream := evaluate.Stream{Protocol: protocol, Settings: l.settings, Method: method}
	switch method {
	case "untimed":
		stream.Settings.Time, stream.Settings.FrameWeight = false, 0
	case "cold":
		stream.Settings.Warm = false
	case "nearest", string(solver.LaplacianShot):
		stream.Settings.Solver.Method, stream.Settings.Solver.MetricRank, stream.Settings.Warm = solver.Method(method), 0, false
	}
	results, errs := make([]evaluate.StreamResult, l.seeds), make([]error, l.seeds)
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for seed := range l.seeds {
		turns <- struct{}{}
		all.Go(func() {
			results[seed], errs[seed] = stream.Run(ctx, set, uint64(seed)+1)
			<-turns
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	l.done[key] = results
	return results, nil
}

// mean averages one figure of the results; results without it do not count.
func mean(results []evaluate.StreamResult, of func(*evaluate.StreamResult) *float64) float64 {
	var values []float64
	for i := range results {
		if v := of(&results[i]); v != nil {
			values = append(values, *v)
		}
	}
	return evaluate.Average(values).Mean
}

func accuracyOf(r *evaluate.StreamResult) *float64 { return r.Accuracy }

// accuracy writes the table of every method with and without taught labels.
func (l *learning) accuracy(ctx context.Context, sets []*evaluate.Set) error {
	columns := []string{"method"}
	var rows [][]string
	for _, method := range slices.Concat([]string{"default", "untimed", "cold", "nearest"}, evaluate.Learners) {
		row := []string{method}
		for _, set := range sets {
			for _, teach := range []float64{0, .03} {
				for _, shots := range []int{1, 5} {
					protocol := streamOrder(set)
					protocol.Shots, protocol.Teach = shots, teach
					results, err := l.run(ctx, set, method, protocol)
					if err != nil {
						return err
					}
					accuracy := mean(results, accuracyOf)
					row = append(row, fmt.Sprintf("%.3f", accuracy))
					if method == "default" {
						columns = append(columns, fmt.Sprintf("%s, %d shots, %g %% taught", set.Name, shots, 100*teach))
						l.bench.Figure(fmt.Sprintf("learning.%s.shots-%d.taught-%g", set.Name, shots, 100*teach), "%.3f",
							accuracy)
					}
				}
			}
		}
		rows = append(rows, row)
	}
	l.bench.Text(
		"Accuracy of every item that carries no label, episodes of 100, mean over seeds 1 to %d. The stage learns from its own gated answers and from what is taught; untimed makes nothing of the order and the frames of its items; cold and nearest answer each episode from the labels before the start and in it alone; 1nn, running-mean, ridge and logistic learn online from the same labels.",
		l.seeds,
	)
	l.bench.Table(columns, rows)
	return nil
}

// streamOrder says how a set becomes a stream: with frames if it has them, in the camera's order; else in
// bursts of a class.
func streamOrder(set *evaluate.Set) evaluate.StreamProtocol {
	p := evaluate.StreamProtocol{Order: "bursts", Episode: 100, SupportBy: "class", TeachBy: "random"}
	if set.Frames != nil {
		p.Order, p.SupportBy, p.Frames = "rows", "first", set.Frames
	}
	return p
}
