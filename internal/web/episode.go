package web

import (
	"slices"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/answering"
)

// item is an answered embedding.
type item struct {
	Result  record.Result
	Example string // the key under which it is taught
	Vector  []float32
	Taught  bool     // it carried its label
	was     *wasView // the first answer, if its episode changed it
}

// settled says whether the item has its result, not only a first answer.
func (i *item) settled() bool { return i.Result.Settled == nil || *i.Result.Settled }

// itemOf copies what the page keeps of an item, as the stage goes on with its own: vectors and attributes
// share the memory of a whole batch of records.
func itemOf(of *record.Item, result record.Result) item {
	result.Attributes = slices.Clone(result.Attributes)
	return item{Result: result, Example: of.Name(), Vector: slices.Clone(of.Vector), Taught: of.Label != ""}
}

// episode is an answered episode.
type episode struct {
	Stream     string     `json:"stream"`
	Number     int64      `json:"episode"`
	Closed     string     `json:"closed"`
	Edges      [][2]int32 `json:"edges,omitempty"` // the graph, pairs of items
	Trace      []float64  `json:"trace,omitempty"` // the objective, step by step
	Iterations int        `json:"iterations"`
	Warm       bool       `json:"warm"`
	Admitted   int        `json:"admitted"`
	Solve      float64    `json:"solveMilliseconds"`
	// Sure are the surest parts of the answers to labelled items: how large, and how much of it is wrong.
	Sure [][2]float64 `json:"sure,omitempty"`

	items []item
}

// episodeOf copies what the page shows of an episode.
func episodeOf(a *answering.Observed) *episode {
	const most = 120 // items: more cannot be told apart
	e := &episode{
		Stream: a.Episode.Key.Name, Number: a.Report.Episode, Closed: string(a.Episode.Closed),
		Iterations: a.Report.Iterations, Warm: a.Report.Warm, Admitted: a.Report.Admitted,
		Solve: float64(a.Took) / float64(time.Millisecond), Trace: []float64{a.Report.Before, a.Report.After},
	}
	items := a.Episode.Items[:min(len(a.Episode.Items), most)]
	for i := range items {
		e.items = append(e.items, itemOf(&items[i], a.Results[i]))
	}
	for _, point := range a.Report.Sure {
		e.Sure = append(e.Sure, [2]float64{point.Share, point.Wrong})
	}
	if a.Solved != nil {
		if len(a.Solved.Trace) > 1 {
			e.Trace = a.Solved.Trace
		}
		e.Edges = edges(a.Graph, len(items))
	}
	e.Trace = onlyFinite(e.Trace)
	return e
}

// edges returns the graph's edges among the first n items, each once.
func edges(graph *index.Affinity, n int) (out [][2]int32) {
	if graph == nil {
		return nil
	}
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
