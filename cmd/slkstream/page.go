package main

import (
	"context"
	"iter"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
)

// newPage makes the live page of a stage. What is taught on it goes through the labels topic, like any other
// teaching. *stage must be set before the page gets a request.
func newPage(c *call, client *topic.Client, stage **pipeline.Stage, o web.Options) *web.Page {
	o.Labels = func() []string { return (*stage).Classes() }
	o.Names = func() []record.Name { return (*stage).Names() }
	o.Example = func(id string) (record.Example, bool) { return (*stage).Example(id) }
	o.Examples = func() iter.Seq[record.Example] { return (*stage).Examples() }
	o.Strangers = func(ctx context.Context) ([]recent.Stranger, error) { return (*stage).Strangers(ctx) }
	o.WouldCorrect = func(list []record.Example) []recent.Corrected { return (*stage).WouldCorrect(list) }
	o.Rejections = func() []record.NotThis { return (*stage).Rejections() }
	o.Counts = func() (examples, rejections map[string]int) { return (*stage).Counts() }
	o.ImageURL, o.ImageHosts, o.Log = c.Config.Listen.ImageURL(), c.Config.Listen.Images, c.Log
	o.UserHeader, o.MaxWrong = c.Config.Listen.UserHeader, c.Config.Memory.MaxWrong
	if labels := c.Config.Topics.Labels; labels != "" {
		o.Say, o.LabelsTopic = client.Write, labels
		o.ForgetName = func(ctx context.Context, n record.Name) ([]record.Receipt, error) {
			return forgetName(ctx, c, client, n)
		}
	}
	return web.New(o)
}

// newRecent returns the store of recently answered items; nil if none are kept.
func newRecent(c *call) *recent.Store {
	if c.Config.Memory.Recent == 0 {
		return nil
	}
	most := int64(c.Config.Memory.Recent)
	if budget := int64(c.Config.Memory.Budget); budget > 0 {
		most = min(most, budget/8)
	}
	return recent.New(most)
}

// shown returns the page's copy of an episode, as the stage continues to use its own.
func shown(a *pipeline.Answered) *web.Episode {
	const most = 120 // items: more cannot be told apart
	items := a.Episode.Items[:min(len(a.Episode.Items), most)]
	e := &web.Episode{
		Stream: a.Episode.Key.Name, Number: a.Report.Episode, Closed: string(a.Episode.Closed),
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
	for _, point := range a.Report.Sure {
		e.Sure = append(e.Sure, [2]float64{point.Share, point.Wrong})
	}
	for i := range items {
		item := &items[i]
		e.Items = append(e.Items, web.Item{
			Result: a.Results[i], Example: item.Name(),
			Vector: slices.Clone(item.Vector), Taught: item.Label != "",
		})
		kept := &e.Items[i].Result
		kept.Attributes = slices.Clone(kept.Attributes) // they share the memory of a whole batch of records
	}
	return e
}

// edges returns the graph's edges among the first n items, each once.
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
