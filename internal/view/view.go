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

	// The space, and the labelled rows in it, in the order of examples.
	Mean     []float32
	about    []float32 // the centre of the metric about Mean; nil: there is no metric
	along    []float32 // what a code's product with one of its directions counts in the space
	Labelled Rows
	Twos     []float32 // squared lengths of a labelled row and an item together
	given    Sums      // of the labelled rows
	Sums     Sums      // and of the learned prototypes
}

// New lays out what is known, by classes or by clusters. before is the view after the episode before, or nil;
// unchanged parts are shared with it. If modes are the method, means replace them.
func New(of Knowledge, before *View) *View {
	k := &View{Knowledge: of}
	k.Solve = k.Solve.InForce()
	k.rank()
	if k.ByClusters {
		k.Solve.Method, k.Solve.Power = solver.SLKMeans, 1
		k.Mean = k.Centre
		k.Sums = newSums(k)
		for _, c := range k.Clusters {
			kernel.Axpy(float32(c.Mass), c.Mean, k.Sums.sum(int(c.Class)))
			k.Sums.Masses[c.Class] += c.Mass
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
		k.Mean, k.about, k.along, k.Twos = before.Mean, before.about, before.along, before.Twos
		k.Labelled, k.given = before.Labelled, before.given
		k.given.view = k
		return
	}
	z := make([]float32, len(k.Examples)*d)
	for i := range k.Examples {
		k.raise(z[i*d:i*d+d], k.Examples[i].Vector)
	}
	k.Mean = make([]float32, d)
	counts := make([]float64, len(k.Names))
	for _, c := range k.Class {
		counts[c]++
	}
	for i, c := range k.Class { // equal weight per class
		kernel.Axpy(float32(1/(counts[c]*float64(len(k.Names)))), z[i*d:i*d+d], k.Mean)
	}
	k.Twos = slices.Repeat([]float32{2}, len(k.Class))
	k.takeMetric()
	k.Resize(&k.Labelled, len(k.Class))
	k.given = newSums(k)
	for i, c := range k.Class {
		row := z[i*d : i*d+d]
		k.centre(row)
		k.Put(&k.Labelled, i, row)
		k.given.Add(int(c), &k.Labelled, i, float32(k.Weight), k.Weight)
	}
}

// takeMetric sets what the metric's map needs.
func (k *View) takeMetric() {
	if k.Learned == nil {
		return
	}
	k.about = slices.Clone(k.Learned.Centre)
	kernel.Axpy(-k.Learned.Inverse, k.Mean, k.about)
	k.along = make([]float32, len(k.Learned.Scales))
	for i, s := range k.Learned.Scales {
		k.along[i] = metric.AlongScale(s) / math.MaxInt16
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
	return before != nil && before.Learned == k.Learned && slices.Equal(before.Mean, k.Mean)
}

// addUp computes the sums of the classes.
func (k *View) addUp() {
	if k.Prior == nil {
		k.Sums = k.given.Clone()
	} else {
		k.Sums = newSums(k)
		k.addPrior(k.Prior)
		kernel.Axpy(1, k.given.values, k.Sums.values)
		for c, mass := range k.given.Masses {
			k.Sums.Masses[c] += mass
		}
	}
	k.Sums.weighAll()
}

// addPrior sets the sums to the learned prototypes. The metric does not change their lengths.
func (k *View) addPrior(prior *solver.Prior) {
	var mapped Rows
	k.Resize(&mapped, 1)
	for c, w := range prior.Weights {
		row := prior.Means[c*k.Dimension:][:k.Dimension]
		kernel.Axpy(-prior.Inverse[c], k.Mean, row)
		length := float32(math.Sqrt(float64(kernel.Dot(row, row))))
		k.Put(&mapped, 0, row)
		k.Sums.Add(c, &mapped, 0, w*length, float64(w))
	}
}

// raise fills out with the transform of a raw row that does not depend on the labels: for clusters, the unit
// row.
func (k *View) raise(out, x []float32) {
	if k.ByClusters {
		vector.Unit(out, x)
		return
	}
	solver.Raise(out, x, k.Solve.Power)
}

// Sums are the sums of the labelled rows and the learned prototype of each class, all weighted, with
// what follows from them for the cost of a row.
type Sums struct {
	view    *View
	values  []float32 // classes x (numbers, and directions of the metric): the sums
	Rows    Rows      // them, as rows; they keep their lengths
	Masses  []float64
	Squares []float64 // of the lengths of sums
	costs   []cost
}

// cost gives -a of a row without the part that all classes share: by times the product of the row and
// the class's sum, minus less.
type cost struct{ by, less float32 }

func newSums(k *View) Sums {
	classes := len(k.Names)
	s := Sums{
		view: k, values: make([]float32, classes*(k.Dimension+k.directions())), Masses: make([]float64, classes),
		Squares: make([]float64, classes), costs: make([]cost, classes),
	}
	k.Resize(&s.Rows, classes)
	return s
}

func (s *Sums) sum(c int) []float32 {
	width := s.view.Dimension + s.view.directions()
	return s.values[c*width : (c+1)*width]
}

// Add adds a row to a class. by is the factor of the row in the sum, weight its mass. The class's cost follows
// with Weigh.
func (s *Sums) Add(c int, r *Rows, at int, by float32, weight float64) {
	sum, d, directions := s.sum(c), s.view.Dimension, s.view.directions()
	step := by * r.scales[at].step
	for j, code := range r.codes[at*d:][:d] {
		sum[j] += step * float32(code)
	}
	kernel.Axpy(by, r.along[at*directions:][:directions], sum[d:])
	s.Masses[c] += weight
}

// Weigh works out the cost of a class.
func (s *Sums) Weigh(c int) {
	k, d, directions := s.view, s.view.Dimension, s.view.directions()
	row, along := s.sum(c)[:d], s.sum(c)[d:]
	s.Rows.scales[c].step, _ = round(s.Rows.codes[c*d:][:d], row)
	copy(s.Rows.along[c*directions:], along)
	square := kernel.Dot(row, row)
	if k.about != nil {
		square = max(0, metric.LengthAlong(square, along, k.Learned.Scales))
	}
	s.Squares[c] = float64(square)
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
	pulled, psi := solver.Pull(s.view.Solve.Pull, square/(mass*mass))
	return cost{float32(2 * s.view.Solve.Tau / mass * pulled), float32(s.view.Solve.Tau * psi)}
}

// Of turns a row's products with the sums into -a.
func (s *Sums) Of(products []float32) {
	for c, x := range s.costs {
		products[c] = x.by*products[c] - x.less
	}
}

func (s Sums) Clone() Sums {
	s.values, s.Rows, s.Masses = slices.Clone(s.values), s.Rows.clone(), slices.Clone(s.Masses)
	s.Squares, s.costs = slices.Clone(s.Squares), slices.Clone(s.costs)
	return s
}
