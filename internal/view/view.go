// Package view lays out what a stream has learned, so that items can be answered one by one; package now does.
package view

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Knowledge is what a stream knows after an episode.
type Knowledge struct {
	Solve     solver.Settings
	Frames    float64 // how strongly items of one frame are held to be different objects
	Model     string
	Dimension int
	Labels    *taught.ForStream

	Names      []string
	Numbers    map[string]int32
	Nobody     int32 // the number of the class of items without an identity; -1: there is none
	Rejections taught.EpisodeRejections

	Examples []*taught.Entry // labelled
	Class    []int32         // theirs
	Weight   float64         // of one in its prototype
	Prior    *solver.Prior   // nil: none. New changes it; a View has it in its sums, as it has Clusters
	Learned  *metric.Metric  // nil: none

	ByClusters bool // clusters are the classes, as too little is labelled: Examples and the like are empty
	Clusters   []Cluster
	Centre     []float32 // that is subtracted from rows

	Expected []float64 // pi0
	Lag      float64   // of the order, in median nearest distances, for Reach positions
	Reach    int       // rows that came before count for an item
	Weights  solver.Weights
	Fitted   bool // the confidence of answers rests on labels that came later
	Limit    Limit
	Tracks   map[string]string // the label of each
}

// Cluster is one of a class.
type Cluster struct {
	Class int32
	Mean  []float32 // less the centre, at length 1
	Mass  float64
}

// View is what a stream knows, laid out. It is immutable: any number of goroutines may read it while the stream
// answers its next episode.
type View struct {
	Knowledge
	Ranked []float32 // weight of the edge to the first, second and further neighbour

	// The space of u, and the labelled rows in it, in the order of examples.
	Mean      []float32
	Metric    *metric.Wide // about Mean; nil: u is z
	Width     int          // of a row of u
	LabelledZ []float32    // m x d, before the metric
	Labelled  []float32    // m x Width; LabelledZ itself without a metric
	Twos      []float32    // m: squared lengths of a labelled row and an item together
	given     Sums         // of the labelled rows
	Sums      Sums         // and of the learned prototypes
}

// New lays out what is known, by classes or by clusters. before is the view after the episode before, or nil;
// unchanged parts are shared with it. If modes are the method, means replace them.
func New(of Knowledge, before *View) *View {
	k := &View{Knowledge: of}
	k.Solve = k.Solve.InForce()
	k.rank()
	if k.ByClusters {
		k.Solve.Method, k.Solve.Power = solver.SLKMeans, 1
		k.Mean, k.Width = k.Centre, k.Dimension
		k.Sums = newSums(k)
		for _, c := range k.Clusters {
			k.Sums.Add(int(c.Class), c.Mean, float32(c.Mass), c.Mass)
		}
		k.Sums.weighAll()
		k.Clusters = nil
		return k
	}
	k.take(before)
	k.addUp()
	k.Prior = nil
	return k
}

// rank computes the weights of edges, with a mean of 1 as in a solve. About half of an item's neighbours have
// come before it: its r-th nearest of those is about its 2r-th, which weighs EdgeDecay^2r.
func (k *View) rank() {
	k.Ranked = make([]float32, k.Solve.Rho)
	decay := k.Solve.EdgeDecay * k.Solve.EdgeDecay
	if decay == 0 {
		decay = 1
	}
	weight, sum := 1., 0.
	for i := range k.Ranked {
		k.Ranked[i] = float32(weight)
		sum += weight
		weight *= decay
	}
	kernel.Scale(float32(float64(k.Solve.Rho)/sum), k.Ranked)
}

// take sets the space and the labelled rows in it; if unchanged, they are those of before.
func (k *View) take(before *View) {
	d := k.Dimension
	if k.sameSpace(before) {
		k.Mean, k.Metric, k.Width, k.Twos = before.Mean, before.Metric, before.Width, before.Twos
		k.LabelledZ, k.Labelled, k.given = before.LabelledZ, before.Labelled, before.given
		k.given.settings = &k.Solve
		return
	}
	z := make([]float32, len(k.Examples)*d)
	for i := range k.Examples {
		k.Raise(z[i*d:i*d+d], k.Examples[i].Vector)
	}
	k.Mean = make([]float32, d)
	counts := make([]float64, len(k.Names))
	for _, c := range k.Class {
		counts[c]++
	}
	for i, c := range k.Class { // equal weight per class
		kernel.Axpy(float32(1/(counts[c]*float64(len(k.Names)))), z[i*d:i*d+d], k.Mean)
	}
	k.LabelledZ, k.Labelled, k.Twos = z, z, slices.Repeat([]float32{2}, len(k.Class))
	if k.Width = d; k.Learned != nil {
		k.Metric = k.Learned.Wide(k.Mean)
		k.Width = k.Metric.Width()
		k.Labelled = make([]float32, len(k.Class)*k.Width)
	}
	k.Embed(z, k.Labelled, nil)
	k.given = newSums(k)
	for i, c := range k.Class {
		k.given.Add(int(c), k.Labelled[i*k.Width:(i+1)*k.Width], float32(k.Weight), k.Weight)
	}
}

// sameSpace reports whether the metric and the labelled rows are those of before.
func (k *View) sameSpace(before *View) bool {
	return before != nil && before.Model == k.Model && before.Dimension == k.Dimension && before.Learned == k.Learned &&
		slices.EqualFunc(before.Examples, k.Examples, func(a, b *taught.Entry) bool {
			return a.Same(&b.Example)
		})
}

// SameMap reports whether rows are embedded as with before.
func (k *View) SameMap(before *View) bool {
	return before != nil && before.Metric == k.Metric && slices.Equal(before.Mean, k.Mean)
}

// addUp computes the sums of the classes.
func (k *View) addUp() {
	if k.Prior == nil {
		k.Sums = k.given.Clone()
	} else {
		k.Sums = newSums(k)
		k.addPrior(k.Prior)
		kernel.Axpy(1, k.given.Values, k.Sums.Values)
		for c, mass := range k.given.Masses {
			k.Sums.Masses[c] += mass
		}
	}
	k.Sums.weighAll()
}

// addPrior sets the sums to the learned prototypes. The metric does not change their lengths.
func (k *View) addPrior(prior *solver.Prior) {
	d, rows := k.Dimension, prior.Means
	for c := range prior.Weights {
		kernel.Axpy(-prior.Inverse[c], k.Mean, rows[c*d:c*d+d])
	}
	if k.Metric == nil {
		copy(k.Sums.Values, rows)
	} else {
		k.Metric.Apply(k.Sums.Values, rows, nil)
	}
	for c, w := range prior.Weights {
		by := w
		if row := rows[c*d : c*d+d]; k.Metric != nil {
			by *= float32(math.Sqrt(float64(kernel.Dot(row, row))))
		}
		kernel.Scale(by, k.Sums.sum(c))
		k.Sums.Masses[c] = float64(w)
	}
}

// Raise fills out with the transform of a raw row that does not depend on the labels: for clusters, the unit
// row.
func (k *View) Raise(out, x []float32) {
	if k.ByClusters {
		vector.Unit(out, x)
		return
	}
	solver.Raise(out, x, k.Solve.Power)
}

// Embed maps raised rows, z, to z and to u. Without a metric it does not write u, which may then be z. It
// returns scratch, grown as needed, for the next call.
func (k *View) Embed(z, u, scratch []float32) []float32 {
	for at, d := 0, k.Dimension; at < len(z); at += d {
		row := z[at : at+d]
		if k.Mean != nil {
			kernel.Axpy(-1, k.Mean, row)
		}
		vector.Unit(row, row)
	}
	if k.Metric == nil {
		return scratch
	}
	return k.Metric.Apply(u, z, scratch)
}

// Sums are the sums of the labelled rows and the learned prototype of each class, all weighted, with
// what follows from them for the cost of a row.
type Sums struct {
	settings *solver.Settings
	metric   *metric.Wide
	width    int
	Values   []float32 // classes x Width: the sums
	Masses   []float64
	Squares  []float64 // of the lengths of sums
	costs    []cost
}

// cost gives -a of a row without the part that all classes share: by times the product of the row and
// the class's sum, minus less.
type cost struct{ by, less float32 }

func newSums(k *View) Sums {
	classes := len(k.Names)
	return Sums{
		settings: &k.Solve, metric: k.Metric, width: k.Width,
		Values: make([]float32, classes*k.Width), Masses: make([]float64, classes),
		Squares: make([]float64, classes), costs: make([]cost, classes),
	}
}

func (s *Sums) sum(c int) []float32 { return s.Values[c*s.width : (c+1)*s.width] }

// Add adds a row to a class. by is the factor of the row in the sum, weight its mass. The class's cost follows
// with Weigh.
func (s *Sums) Add(c int, row []float32, by float32, weight float64) {
	kernel.Axpy(by, row, s.sum(c))
	s.Masses[c] += weight
}

// Weigh works out the cost of a class.
func (s *Sums) Weigh(c int) {
	if sum := s.sum(c); s.metric != nil {
		s.Squares[c] = float64(s.metric.Square(sum))
	} else {
		s.Squares[c] = float64(kernel.Dot(sum, sum))
	}
	s.costs[c] = s.cost(s.Masses[c], s.Squares[c])
}

func (s *Sums) weighAll() {
	for c := range s.costs {
		s.Weigh(c)
	}
}

// cost is that of a class with this mass and squared length of its sum.
func (s *Sums) cost(mass, square float64) cost {
	switch {
	case mass == 0: // it takes no part; finite, so that all are alike where none does
		return cost{less: 1e30}
	case square <= 0:
		return cost{}
	}
	pulled, psi := solver.Pull(s.settings.Pull, square/(mass*mass))
	return cost{float32(2 * s.settings.Tau / mass * pulled), float32(s.settings.Tau * psi)}
}

// Of turns a row's products with the sums into -a.
func (s *Sums) Of(products []float32) {
	for c, x := range s.costs {
		products[c] = x.by*products[c] - x.less
	}
}

func (s Sums) Clone() Sums {
	s.Values, s.Masses = slices.Clone(s.Values), slices.Clone(s.Masses)
	s.Squares, s.costs = slices.Clone(s.Squares), slices.Clone(s.costs)
	return s
}
