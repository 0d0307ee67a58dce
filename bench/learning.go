package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// learningSection scores the stage on streams under harm, with and without what it remembers and the order of items,
// and in discovery against clustering each episode separately. Section battery has its rivals.
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

// streamOrder says how a set becomes a stream: with frames if it has them, in the camera's order; else in
// bursts of a class.
func streamOrder(set *evaluate.Set) evaluate.StreamProtocol {
	p := evaluate.StreamProtocol{Order: "bursts", Episode: 100, SupportBy: "class", TeachBy: "random"}
	if set.Frames != nil {
		p.Order, p.SupportBy, p.Frames = "rows", "first", set.Frames
	}
	return p
}
