package main

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/solver/stream"
)

// newPage makes the live page of a stage. What is taught on it goes through the labels topic, like any other
// teaching.
func newPage(c *call, client *topic.Client, o web.Options) *web.Page {
	o.ImageURL, o.ImageHosts, o.Log = c.Config.Listen.ImageURL, c.Config.Listen.ImageHosts, c.Log
	if labels := c.Config.Topics.Labels; labels != "" {
		o.Teach = func(ctx context.Context, e *record.Example) error {
			return client.Write(ctx, []record.Out{record.Teach(labels, e)})
		}
		o.Forget = func(ctx context.Context, id string) error {
			return client.Write(ctx, []record.Out{record.Forget(labels, id)})
		}
	}
	return web.New(o)
}

// supportLabels are the labels that a page offers from the start.
func supportLabels(support []stream.Example) func() []string {
	var labels []string
	for i := range support {
		labels = append(labels, support[i].Label)
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	return func() []string { return labels }
}

// status is the stage as the page shows it; metrics may be nil before it begins.
func status(metrics *pipeline.Metrics) web.Status {
	if metrics == nil {
		return web.Status{}
	}
	s := metrics.Summary()
	view := web.Status{
		Answered: s.Answered, Unknown: s.Unknown, Dead: s.Refused, Episodes: s.Episodes,
		Streams: s.Streams, Lag: s.Lag, LagSeconds: s.LagSeconds,
	}
	for _, t := range append(metrics.Troubles(), metrics.Doubts()...) {
		view.Troubles = append(view.Troubles, web.Trouble(t))
	}
	return view
}

// shown is an episode as the page has it: a copy, as the stage goes on.
func shown(a *pipeline.Answered) *web.Episode {
	const most = 120 // items: an eye tells no more apart
	items := a.Episode.Items[:min(len(a.Episode.Items), most)]
	e := &web.Episode{
		Stream: a.Episode.Key.Stream, Number: a.Report.Episode, Closed: string(a.Episode.Closed),
		Iterations: a.Report.Iterations,
		Warm:       a.Report.Warm, Admitted: a.Report.Admitted, Solve: a.Took,
		Trace: []float64{a.Report.Before, a.Report.After},
	}
	if a.Solved != nil {
		if len(a.Solved.Trace) > 1 {
			e.Trace = slices.Clone(a.Solved.Trace)
		}
		e.Edges = edges(a.Solved.Affinity, len(items))
	}
	for i := range items {
		item := &items[i]
		e.Items = append(e.Items, web.Item{
			Result: a.Results[i], Example: item.Name(),
			Vector: slices.Clone(item.Vector), Taught: item.Label != "",
		})
	}
	return e
}

// edges are the graph's among the first n items, each once.
func edges(graph *index.Affinity, n int) [][2]int32 {
	if graph == nil {
		return nil
	}
	var out [][2]int32
	for p := range min(n, graph.N()) {
		neighbours, _ := graph.Row(p)
		for _, q := range neighbours {
			if int(q) > p && int(q) < n {
				out = append(out, [2]int32{int32(p), q})
			}
		}
	}
	return out
}
