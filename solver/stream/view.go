package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// View is the learned state of a stream after an episode, laid out to answer items one by one; see Now.
// It is immutable: any number of goroutines may read it while the stream answers its next episode.
type View struct {
	solve     solver.Settings
	ranked    []float32 // weight of the edge to the first, second and further neighbour
	frames    float64   // Settings.FrameWeight
	model     string
	dimension int
	labels    *taught.ForStream

	names      []string
	numbers    map[string]int32
	weight     float64 // of a labelled item in its prototype
	nobody     int32   // the number of class Nobody; -1: there is none
	rejections taught.EpisodeRejections

	// The space of u, and the labelled rows in it, in the order of examples.
	clusters  bool // classes are clusters: too little is labelled
	mean      []float32
	learned   *metric.Metric // as the stream has it
	metric    *metric.Map    // about mean
	examples  []*taught.Entry
	class     []int32
	labelledZ []float32 // m x d, before the metric
	labelled  []float32 // m x d; labelledZ itself without a metric
	twos      []float32 // m: squared lengths of a labelled row and an item together
	given     classSums // of the labelled rows
	sums      classSums // and of the learned prototypes

	expected  []float64 // pi0
	coherence float64
	weights   solver.Weights
	fitted    bool // the confidence of answers rests on labels that came later
	limit     unknownLimit
	tracks    map[string]string // the label of each
}

// View returns what the stream and labels, which may be nil, know about items of like's model and
// dimension. before is the stream's view after the episode before, or nil; unchanged parts are shared
// with it. Pending learning aside, the stream is not changed. If modes are the method, means replace them.
func (s *Stream) View(like *Item, labels *taught.Labels, before *View) (*View, error) {
	s.Learn()
	if _, err := checkItems([]Item{*like}); err != nil {
		return nil, err
	}
	from := s.fork()
	if s.dimension != 0 && (like.Model != s.model || len(like.Vector) != s.dimension) {
		from.restart("")
	}
	from.model, from.dimension = like.Model, len(like.Vector)
	var p problem
	followed := labels.For(s.Name)
	if _, err := p.gather(from, nil, followed); err != nil {
		return nil, err
	}
	p.number(nil)
	k := &View{
		solve: s.settings.Solver, frames: s.settings.FrameWeight, model: from.model, dimension: from.dimension,
		labels: followed, limit: unknownLimit{at: math.Inf(1), low: math.Inf(1)}, nobody: -1,
		weights: solver.Weights{Prototypes: 1},
	}
	if !k.solve.Method.UsesGraph() {
		k.solve.Lambda = 0
	}
	if len(p.names) == 0 || s.settings.Discover && len(p.names) == 1 {
		k.fromClusters(from)
		k.rank()
		return k, nil
	}
	k.rank()
	p.fill(from, nil, 0)
	k.names, k.numbers, k.nobody = p.names, p.numbers, p.nobody()
	k.rejections = p.rejectionsOf(from)
	k.examples, k.class = p.listed()
	k.weight = s.settings.Solver.LabelWeight
	k.expected = uniform(p.K)
	var prior *solver.Prior
	if s.settings.Warm {
		k.learned, k.expected, prior = from.metric.current, from.proportions.expected(p.names), from.prior(&p)
		if s.settings.Time {
			k.coherence = from.timeline.Coherence()
		}
	}
	k.take(before)
	k.addUp(prior)
	k.weights, k.fitted = from.weights.forSolve(), from.calibration.fitted()
	k.limit = from.unknownLimit(&from.novelty.scores)
	if from.embedder.unlike > 0 {
		k.limit = unknownLimit{at: -1, low: -1} // every item is unknown, with a confidence of at most .5
	}
	k.tracks = make(map[string]string, len(from.timeline.tracks))
	for name, x := range from.timeline.tracks {
		k.tracks[name] = x.label
	}
	return k, nil
}

// rank computes the weights of edges, with a mean of 1 as in a solve. About half of an item's neighbours have
// come before it: its r-th nearest of those is about its 2r-th, which weighs EdgeDecay^2r.
func (k *View) rank() {
	k.ranked = make([]float32, k.solve.Rho)
	decay := k.solve.EdgeDecay * k.solve.EdgeDecay
	if decay == 0 {
		decay = 1
	}
	weight, sum := 1., 0.
	for i := range k.ranked {
		k.ranked[i] = float32(weight)
		sum += weight
		weight *= decay
	}
	kernel.Scale(float32(float64(k.solve.Rho)/sum), k.ranked)
}

// fromClusters takes the clusters as classes.
func (k *View) fromClusters(s *Stream) {
	d := k.dimension
	k.clusters, k.numbers, k.weight = true, map[string]int32{}, 1
	k.solve.Method, k.solve.Power = solver.SLKMeans, 1
	centre, classes := s.clusters.Classes(d)
	if len(classes) == 0 {
		return
	}
	k.mean = centre
	k.limit.at = distance(float32(1 - s.settings.DiscoverDistance))
	for _, x := range classes {
		if _, twice := k.numbers[x.Label]; !twice {
			k.numbers[x.Label] = int32(len(k.names))
			k.names = append(k.names, x.Label)
		}
	}
	k.sums = newClassSums(&k.solve, len(k.names), d)
	for _, x := range classes {
		k.sums.add(int(k.numbers[x.Label]), x.Mean, float32(x.Mass), x.Mass)
	}
	k.expected = uniform(len(k.names))
	k.sums.weighAll()
}

// take sets the space and the labelled rows in it; if unchanged, they are those of before.
func (k *View) take(before *View) {
	d := k.dimension
	if k.sameSpace(before) {
		k.mean, k.metric, k.twos = before.mean, before.metric, before.twos
		k.labelledZ, k.labelled, k.given = before.labelledZ, before.labelled, before.given
		k.given.settings = &k.solve
		return
	}
	z := make([]float32, len(k.examples)*d)
	for i := range k.examples {
		k.raise(z[i*d:i*d+d], k.examples[i].Vector)
	}
	k.mean = make([]float32, d)
	counts := make([]float64, len(k.names))
	for _, c := range k.class {
		counts[c]++
	}
	for i, c := range k.class { // equal weight per class
		kernel.Axpy(float32(1/(counts[c]*float64(len(k.names)))), z[i*d:i*d+d], k.mean)
	}
	k.labelledZ, k.labelled, k.twos = z, z, slices.Repeat([]float32{2}, len(k.class))
	if k.learned != nil {
		k.metric = new(metric.Map)
		k.learned.About(k.mean, k.metric)
		k.labelled = make([]float32, len(z))
	}
	k.embed(z, k.labelled, nil)
	k.given = newClassSums(&k.solve, len(k.names), d)
	for i, c := range k.class {
		k.given.add(int(c), k.labelled[i*d:i*d+d], float32(k.weight), k.weight)
	}
}

// sameSpace reports whether the metric and the labelled rows are those of before.
func (k *View) sameSpace(before *View) bool {
	return before != nil && before.model == k.model && before.dimension == k.dimension && before.learned == k.learned &&
		slices.EqualFunc(before.examples, k.examples, func(a, b *taught.Entry) bool {
			return a.Same(&b.Example)
		})
}

// sameMap reports whether rows are embedded as with before.
func (k *View) sameMap(before *View) bool {
	return before != nil && before.metric == k.metric && slices.Equal(before.mean, k.mean)
}

// addUp computes the sums of the classes.
func (k *View) addUp(prior *solver.Prior) {
	k.sums = k.given.clone()
	if prior != nil {
		k.addPrior(prior)
	}
	k.sums.weighAll()
}

// addPrior adds the learned prototypes. The metric does not change their lengths.
func (k *View) addPrior(prior *solver.Prior) {
	d, rows, by := k.dimension, slices.Clone(prior.Means), slices.Clone(prior.Weights)
	for c := range by {
		row := rows[c*d : c*d+d]
		kernel.Axpy(-prior.Inverse[c], k.mean, row)
		if k.metric != nil {
			by[c] *= float32(math.Sqrt(float64(kernel.Dot(row, row))))
		}
	}
	if k.metric != nil {
		k.metric.Apply(rows, nil)
	}
	for c, w := range prior.Weights {
		if w > 0 {
			k.sums.add(c, rows[c*d:c*d+d], by[c], float64(w))
		}
	}
}

// raise fills out with the transform of a raw row that does not depend on the labels: for clusters, the unit
// row.
func (k *View) raise(out, x []float32) {
	if k.clusters {
		vector.Unit(out, x)
		return
	}
	solver.Raise(out, x, k.solve.Power)
}

// embed maps raised rows, z, to z and to u. Without a metric it does not write u, which may then be z. It
// returns scratch, grown as needed, for the next call.
func (k *View) embed(z, u, scratch []float32) []float32 {
	for at, d := 0, k.dimension; at < len(z); at += d {
		row := z[at : at+d]
		if k.mean != nil {
			kernel.Axpy(-1, k.mean, row)
		}
		vector.Unit(row, row)
	}
	if k.metric == nil || len(z) == 0 {
		return scratch
	}
	copy(u, z)
	scratch = vector.Resize(scratch, metric.ScratchRows*len(k.metric.Scales))
	k.metric.Apply(u, scratch)
	return scratch
}

// classSums are the sums of the labelled rows and the learned prototype of each class, all weighted, with
// what follows from them for the cost of a row.
type classSums struct {
	settings *solver.Settings
	d        int
	values   []float32 // classes x d: the sums
	masses   []float64
	squares  []float64 // of the lengths of sums
	costs    []classCost
}

// classCost gives -a of a row without the part that all classes share: by times the product of the row and
// the class's sum, minus less.
type classCost struct{ by, less float32 }

func newClassSums(s *solver.Settings, classes, d int) classSums {
	return classSums{
		settings: s, d: d, values: make([]float32, classes*d), masses: make([]float64, classes),
		squares: make([]float64, classes), costs: make([]classCost, classes),
	}
}

func (s *classSums) sum(c int) []float32 { return s.values[c*s.d : c*s.d+s.d] }

// add adds a row to a class. by is the factor of the row in the sum, weight its mass. The class's cost follows
// with weigh.
func (s *classSums) add(c int, row []float32, by float32, weight float64) {
	kernel.Axpy(by, row, s.sum(c))
	s.masses[c] += weight
}

// weigh works out the cost of a class.
func (s *classSums) weigh(c int) {
	s.squares[c] = float64(kernel.Dot(s.sum(c), s.sum(c)))
	s.costs[c] = s.cost(s.masses[c], s.squares[c])
}

func (s *classSums) weighAll() {
	for c := range s.costs {
		s.weigh(c)
	}
}

// cost is that of a class with this mass and squared length of its sum.
func (s *classSums) cost(mass, square float64) classCost {
	switch {
	case mass == 0: // it takes no part; finite, so that all are alike where none does
		return classCost{less: 1e30}
	case square <= 0:
		return classCost{}
	}
	pulled, psi := solver.Pull(s.settings.Pull, square/(mass*mass))
	return classCost{float32(2 * s.settings.Tau / mass * pulled), float32(s.settings.Tau * psi)}
}

// of turns a row's products with the sums into -a.
func (s *classSums) of(products []float32) {
	for c, x := range s.costs {
		products[c] = x.by*products[c] - x.less
	}
}

func (s classSums) clone() classSums {
	s.values, s.masses = slices.Clone(s.values), slices.Clone(s.masses)
	s.squares, s.costs = slices.Clone(s.squares), slices.Clone(s.costs)
	return s
}
