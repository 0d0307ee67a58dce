package stream

import (
	"slices"

	"github.com/slkstream/slkstream/solver/stream/internal/clusters"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// clusterPart is the part of a stream that has its classes found without labels.
type clusterPart struct{ clusters.Set }

// ClusterSummary is one cluster in a Summary.
type ClusterSummary struct {
	Cluster string // as it was found: cluster-17
	Label   string // its name after a labelled member, else Cluster
	Items   int64
	Seen    int64     // the last episode with an item of it
	Mean    []float32 // of its last items at length 1
	// Apart are, with Settings.Summaries, clusters that were in one frame with it.
	Apart []string
}

// Clusters returns the clusters of the stream in the order of their ids.
func (s *Stream) Clusters() []ClusterSummary { return s.clusters.since(0) }

// since returns the clusters that have changed from an episode on.
func (c *clusterPart) since(episode int64) (out []ClusterSummary) {
	for _, x := range c.Since(episode) {
		out = append(out, ClusterSummary{x.Found(), x.Label(), x.Items, x.Seen, slices.Clone(x.Mean), x.Apart()})
	}
	return out
}

// changed returns the clusters that have changed since the episode before; those that are gone have no mean.
func (c *clusterPart) changed(episode int64) []ClusterSummary {
	out := c.since(episode)
	for _, x := range c.Gone() {
		out = append(out, ClusterSummary{Cluster: x.Found(), Label: x.Label(), Items: x.Items, Seen: x.Seen})
	}
	return out
}

func (c *clusterPart) detach()                 { c.Detach() }
func (c *clusterPart) reset(label string) bool { return c.Reset(label) }
func (c *clusterPart) bytes(d int) int         { return c.Bytes(d, overhead) }
func (c *clusterPart) kinds() []string         { return []string{"before"} }
func (c *clusterPart) fields(f *piece.Fields)  { c.Fields(f) }

// observe names a cluster after a taught item that is similar enough to be a member. Items of the feed name
// clusters as they come, examples of the labels topic when the topic has changed.
func (c *clusterPart) observe(e *episode) {
	c.Pass(len(e.items))
	if !e.relabels && !teaches(e.items) {
		return
	}
	labelled := func(name func(label string, vector []float32) bool) {
		if e.relabels {
			known, _ := e.problem.listed()
			for _, x := range known {
				name(x.Label, x.Vector)
			}
		}
		for i := range e.items {
			if e.items[i].Label != "" {
				name(e.items[i].Label, e.items[i].Vector)
			}
		}
	}
	c.Name(e.number, e.stream.dimension, e.stream.settings.DiscoverDistance, labelled, func(was, label string) {
		e.report.Events = append(e.report.Events, Event{Kind: "named", Class: was, Into: label})
	})
}

// answerClusters answers an episode with clusters, where a stream has too few labelled classes.
func (s *Stream) answerClusters(of *episode) {
	of.engine.solved = nil
	of.report.Warm = s.episode > 0
	all := make([]int, len(of.items))
	for i := range all {
		all[i] = i
	}
	of.answers = make([]Answer, len(all))
	for i, m := range s.clusters.assign(of, all) {
		a := Answer{Class: m.Of.Label(), Confidence: m.Confidence}
		if label := of.items[i].Label; label != "" {
			a = Answer{Class: label, Confidence: 1}
		}
		a.Label = of.problem.taught.Called(a.Class)
		of.answers[i] = a
	}
}

// answer answers the unknown items of a labelled episode with their clusters, if the stream discovers
// classes. The best label becomes the first alternative.
func (c *clusterPart) answer(e *episode) {
	names, answers, report := e.problem.taught, e.answers, &e.report
	if !e.stream.settings.Discover || report.Unknown == 0 || e.stream.embedder.unlike > 0 {
		return
	}
	var unknown []int
	for i := range answers {
		if answers[i].Unknown {
			unknown = append(unknown, i)
		}
	}
	members := c.assign(e, unknown)
	c.Strangers(e.number, func(label string, returned bool) {
		kind := "new-unknown"
		if returned {
			kind = "returned-unknown"
		}
		if names.Called(label) == label {
			report.Events = append(report.Events, Event{Kind: kind, Class: label})
		}
	})
	for i, m := range members {
		a := &answers[unknown[i]]
		known := Alternative{Label: a.Label, Confidence: min(a.Confidence, m.Confidence)}
		a.Class = m.Of.Label()
		if a.Label = names.Called(a.Class); a.Label != a.Class { // the cluster has been named
			a.Unknown = false
			report.Unknown--
		}
		a.Confidence, a.Calibrated = m.Confidence, false
		a.Alternatives = append([]Alternative{known}, a.Alternatives...)
	}
}

// assign assigns each of the chosen items, at least one, to a cluster.
func (c *clusterPart) assign(of *episode, chosen []int) []clusters.Member {
	set, report := &of.stream.settings, of.report
	happens := func(kind string) func(string) {
		return func(label string) { report.Events = append(report.Events, Event{Kind: kind, Class: label}) }
	}
	e := clusters.Episode{
		Number: of.number, Chosen: chosen, Distance: set.DiscoverDistance, Tau: set.Solver.Tau,
		Framed: set.FrameWeight > 0, Together: set.Summaries, Born: happens("born"), Retired: happens("retired"),
	}
	for i := range of.items {
		item := &of.items[i]
		e.Items = append(e.Items, clusters.Item{Vector: item.Vector, Frame: item.Frame, Track: item.Track})
	}
	if set.Time && set.Warm {
		e.Order = &of.stream.timeline
	}
	return c.Assign(&e)
}
