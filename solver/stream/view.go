package stream

import (
	"math"
	"sync"

	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// View returns what the stream and labels, which may be nil, know about items of like's model and
// dimension, for internal/now. before is the stream's view after the episode before, or nil; unchanged parts are
// shared with it. Pending learning aside, the stream is not changed.
func (s *Stream) View(like *Item, labels *taught.Labels, before *view.View) (*view.View, error) {
	s.Learn()
	if _, err := Check([]Item{*like}); err != nil {
		return nil, err
	}
	from := s.fork(new(Stream))
	if s.dimension != 0 && (like.Model != s.model || len(like.Vector) != s.dimension) {
		from.restart("")
	}
	from.model, from.dimension = like.Model, len(like.Vector)
	prior := priors.Get().(*solver.Prior)
	p := problem{learned: *prior}
	defer func() {
		*prior = p.learned
		priors.Put(prior)
	}()
	followed := labels.For(s.Name)
	if _, err := p.gather(from, nil, followed); err != nil {
		return nil, err
	}
	p.number(nil)
	k := view.Knowledge{
		Solve: s.settings.Solver, Frames: s.settings.FrameWeight, Model: from.model, Dimension: from.dimension,
		Labels: followed, Nobody: -1, Reach: lagUnit, Weights: solver.Weights{Prototypes: 1},
	}
	if len(p.names) == 0 || s.settings.Discover && len(p.names) == 1 {
		from.viewClusters(&k)
	} else {
		from.viewClasses(&k, &p)
	}
	return view.New(k, before), nil
}

// priors are memory of views that are being made.
var priors = sync.Pool{New: func() any { return new(solver.Prior) }}

// viewClusters takes the clusters as classes.
func (s *Stream) viewClusters(k *view.Knowledge) {
	k.ByClusters, k.Numbers, k.Weight = true, map[string]int32{}, 1
	centre, classes := s.clusters.Classes(k.Dimension)
	if len(classes) == 0 {
		return
	}
	k.Centre = centre
	k.Limit = view.Limit{At: view.Distance(float32(1 - s.settings.DiscoverDistance)), Low: math.Inf(1)}
	for _, x := range classes {
		c, twice := k.Numbers[x.Label]
		if !twice {
			c = int32(len(k.Names))
			k.Numbers[x.Label], k.Names = c, append(k.Names, x.Label)
		}
		k.Clusters = append(k.Clusters, view.Cluster{Class: c, Mean: x.Mean, Mass: x.Mass})
	}
	k.Expected = uniform(len(k.Names))
}

// viewClasses takes the labelled classes of a problem without items.
func (s *Stream) viewClasses(k *view.Knowledge, p *problem) {
	p.fill(s, nil, 0)
	k.Names, k.Numbers, k.Nobody = p.names, p.numbers, p.nobody()
	k.Rejections = p.rejectionsOf(s)
	k.Examples, k.Class = p.listed()
	k.Weight, k.Expected = s.settings.Solver.LabelWeight, uniform(p.K)
	if s.settings.Warm {
		k.Learned, k.Expected, k.Prior = s.metric.current, s.proportions.expected(p, nil), s.prior(p)
		if s.settings.Time {
			k.Lag = lagWeight * s.timeline.Coherence()
		}
	}
	k.Weights, k.Fitted = s.weights.forSolve(), s.calibration.fitted()
	k.Limit = s.unknownLimit(&s.novelty.scores)
	if s.embedder.unlike > 0 {
		k.Limit = view.Limit{At: -1, Low: -1} // every item is unknown, with a confidence of at most .5
	}
	k.Tracks = make(map[string]string, len(s.timeline.tracks))
	for name, x := range s.timeline.tracks {
		k.Tracks[name] = x.label
	}
}
