package solver

import (
	"runtime"

	"github.com/slkstream/slkstream/internal/parallel"
	"github.com/slkstream/slkstream/internal/vector"
)

// episode is a problem prepared for solving, and the workspace of a Solver: each part owns its data.
type episode struct {
	settings   *Settings
	model      model
	classes    classes
	rows       rows
	s          assignments
	mass       mass
	prototypes prototypes
	graph      graph
	examples   exampleWork
	likeness   likeness
	pool       workerPool
	scratch    scratch
}

// model is the method and the weights of R's terms that are in force.
type model struct {
	methodRules
	lambda, tau, kappa  float64 // an annealed start scales them
	sharpness           float64 // Weights.Prototypes in force, of which tau and kappa have a share
	sigma2              float64 // of a mode's kernel
	pull, beta, cpi, ws float64 // as Settings.Pull, Beta, PriorCounts and LabelWeight
	judged              bool    // R is computed
}

func (m *model) take(s *Settings, judge bool) {
	*m = model{
		methodRules: s.rules(), lambda: s.Lambda, tau: s.Tau, kappa: s.Kappa, sigma2: s.Sigma * s.Sigma,
		sharpness: 1, pull: s.Pull, beta: s.Beta, cpi: s.PriorCounts, ws: s.LabelWeight, judged: judge || s.Check,
	}
}

// classes are the active ones, which have a labelled item or a prior: a class with neither is masked, because
// its zero prototype would absorb points.
type classes struct {
	k              int
	active, number []int32   // active class -> class, and back (-1: masked)
	clustering     bool      // none has a labelled item or a prior: they are clusters
	pi0, pi        []float64 // k: proportions before the solve, and now
}

// activate numbers the classes with a mark in number; without any, all of them are clusters.
func (c *classes) activate() {
	c.active = c.active[:0]
	for k, on := range c.number {
		if c.number[k] = -1; on > 0 {
			c.number[k] = int32(len(c.active))
			c.active = append(c.active, int32(k))
		}
	}
	if c.clustering = len(c.active) == 0; c.clustering {
		c.first(len(c.number))
	}
	c.k = len(c.active)
}

// first makes classes 0 to k-1 the active ones.
func (c *classes) first(k int) {
	c.k, c.active = k, c.active[:0]
	for class := range k {
		c.number[class] = int32(class)
		c.active = append(c.active, int32(class))
	}
}

// setProportions sets pi0, and pi to it, from the counts of all classes; nil: uniform.
func (c *classes) setProportions(counts []float64) {
	c.pi0, c.pi = vector.Resize(c.pi0, c.k), vector.Resize(c.pi, c.k)
	if c.clustering { // counts are those of classes, not of clusters
		counts = nil
	}
	var sum float64
	for i, class := range c.active {
		c.pi0[i] = 1
		if counts != nil {
			c.pi0[i] = counts[class]
		}
		sum += c.pi0[i]
	}
	for i := range c.pi0 {
		if sum > 0 {
			c.pi0[i] /= sum
		} else { // only masked classes have counts
			c.pi0[i] = 1 / float64(c.k)
		}
	}
	copy(c.pi, c.pi0)
}

// rows are the problem's rows, its examples, and the prior prototypes.
type rows struct {
	n, examples, d  int
	all             int // items, examples, prior prototypes, means of labelled rows
	firstMean       int
	examplesAreRows bool // each example is a row; else each class's mean is
	unlabelled      int
	earlier         int       // the last ones, which come before the first
	block           int       // rows that share proportions of their own; 0: none
	label           []int32   // items, then examples: active class, -1 unlabelled
	countsFor       []int32   // rows: class that they count for by their weight, -1: none
	weight, count   []float32 // rows: weight in that class, number of labelled rows they stand for
	mean            []float32 // d: mu
	inverse         []float32 // items: 1 / |x - mu|
	z               []float32 // items, and examples that are rows, x d
	v, mapped       []float32 // rows x d: factor (z - centre), so that u = metric(v); v is z or mapped
	along           []float32 // directions x rows that are no means: products with v times alongScale
	factor          []float32 // rows: see v
	squareCentred   []float32 // rows: |z - centre|^2
	priorSquare     []float32 // classes: |m'|^2 where there is a prior
	u               []float32 // rows x d, of the row-space engine
	squareU         []float32 // rows: |u|^2
	points          *Points   // instead of z, v and u
}

// mass is how much counts in each class.
type mass struct {
	soft []float64 // k: sum of s over unlabelled rows
	held []float64 // k: weight of labelled rows and prior
}

// prototypes are the C_k, in one of the two engines.
type prototypes struct {
	space    space // direct or gram
	direct   rowSpace
	gram     gramSpace
	usesGram bool
	length   []float64 // k: |C|^2
	psi      []float64 // k: psi_u(|C|), of means
}

// scratch is memory that the steps of a solve reuse.
type scratch struct {
	terms       terms
	assessment  assessment
	hard        assignments // with HardStep
	base        []float32   // of a sweep, k: the part of a score that points share
	batch       []float32   // of a sweep by blocks: scores of the rows of a batch
	changes     []float64   // of a colour: L1 change of each block
	faults      []int       // of each tile: the first row whose embedding is not finite, -1 for none
	density     []float32   // tiles x k
	total, last []float64   // k
	wide        []float32   // n x K: S with the masked classes as zeros
	values      []float32
}

// layOut takes the problem's classes and rows, and the weights of the settings.
func (e *episode) layOut(p *Problem, everyExample bool) {
	e.model.take(e.settings, p.Judge)
	r, c, cache := &e.rows, &e.classes, e.examples.cache
	r.n, r.d, r.points, r.block, r.earlier, r.unlabelled = p.Rows.N(), p.Rows.D(), p.Rows.points, p.block, p.Earlier, 0
	e.s.started, e.likeness.weight = false, 0
	c.number = vector.Zeroed(c.number, p.K)
	for _, l := range p.Labels {
		if l >= 0 {
			c.number[l] = 1
		}
	}
	r.examples = len(cache.label)
	for k, members := range cache.members {
		if members > 0 {
			c.number[k] = 1
		}
	}
	if p.Prior != nil {
		for k, w := range p.Prior.Weights {
			if w > 0 {
				c.number[k] = 1
			}
		}
	}
	c.activate()
	e.layOutRows(p, everyExample)
	c.setProportions(p.Proportions)
	if c.clustering {
		return // the start says how many clusters there are
	}
	e.sizeForClasses()
	for p, y := range r.label[:r.n] {
		if y >= 0 {
			e.s.clamp(p, y)
		}
	}
}

// layOutRows numbers the rows, and says which class each one holds and how much it weighs there.
func (e *episode) layOutRows(p *Problem, everyExample bool) {
	r, c, cache := &e.rows, &e.classes, e.examples.cache
	r.label, r.countsFor, r.weight, r.count = r.label[:0], r.countsFor[:0], r.weight[:0], r.count[:0]
	e.mass.held = vector.Zeroed(e.mass.held, c.k)
	for i := range r.n {
		if p.labelled(i) {
			e.addFixed(c.number[p.Labels[i]], e.model.ws, 1)
		} else {
			e.addFixed(-1, 0, 0)
			r.unlabelled++
		}
	}
	r.label = append(r.label, r.countsFor...)
	for _, l := range cache.label {
		if l >= 0 {
			l = c.number[l]
		}
		r.label = append(r.label, l)
	}
	// A mean replaces its rows: sum |u - C|^2 is the same except for aroundMeans. This does not
	// hold for kernels.
	r.examplesAreRows = e.model.modes || r.n > mostGram || e.settings.Paper.BiasCorrection || everyExample
	if r.examplesAreRows {
		for _, y := range r.label[r.n:] {
			if y >= 0 {
				e.addFixed(y, e.model.ws, 1)
			} else {
				e.addFixed(-1, 0, 0)
			}
		}
	}
	if p.Prior != nil {
		for k, w := range p.Prior.Weights {
			if w > 0 {
				e.addFixed(c.number[k], float64(w), 0)
			}
		}
	}
	r.firstMean = len(r.countsFor)
	if !r.examplesAreRows {
		for _, k := range c.active {
			if members := cache.members[k]; members > 0 {
				e.addFixed(c.number[k], e.model.ws*members, members)
			}
		}
	}
	r.all = len(r.countsFor)
}

// addFixed adds a row that counts for a class with a weight and stands for count labelled rows. Class
// -1: for none.
func (e *episode) addFixed(class int32, weight, count float64) {
	r := &e.rows
	r.countsFor = append(r.countsFor, class)
	r.weight, r.count = append(r.weight, float32(weight)), append(r.count, float32(count))
	if class >= 0 {
		e.mass.held[class] += weight
	}
}

// sizeForClasses makes room for the active classes.
func (e *episode) sizeForClasses() {
	k := e.classes.k
	e.mass.soft, e.prototypes.length = vector.Zeroed(e.mass.soft, k), vector.Zeroed(e.prototypes.length, k)
	e.scratch.total, e.scratch.last = vector.Resize(e.scratch.total, k), vector.Resize(e.scratch.last, k)
	e.s.size(e.rows.n, k)
}

// estimateSigma sets sigma^2, if Settings.Sigma is 0, to the mean squared distance of neighbours.
func (e *episode) estimateSigma() {
	if !e.model.modes || e.model.sigma2 > 0 {
		return
	}
	var sum float64
	var pairs int
	for p := range e.rows.n {
		columns, _ := e.graph.Row(p)
		for _, q := range columns {
			sum += float64(e.prototypes.space.squaredDistance(p, int(q)))
			pairs++
		}
	}
	if e.model.sigma2 = 1; sum > 0 { // if all rows are equal, every width gives the same answer
		e.model.sigma2 = sum / float64(pairs)
	}
}

// sizePool sets the number of workers: one for a small episode, which then starts no goroutine.
func (e *episode) sizePool() {
	workers := e.settings.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if e.rows.n <= serial {
		workers = 1
	}
	e.pool.resize(workers)
}

// enter prepares the engine for k classes.
func (e *episode) enter() {
	e.pool.size(e.classes.k)
	if e.prototypes.usesGram {
		e.prototypes.gram.enter()
	} else {
		e.prototypes.direct.enter()
	}
}

// serial is the largest number of rows that one core solves alone, in row order. Up to it, synchronising
// after each colour costs more than a second core gains, and episodes run in parallel anyway.
const serial = 4096

// tile is how many rows are compared with the prototypes at once.
const tile = 64

// workerPool runs blocks of work in parallel. The result of a block never depends on the worker that ran it.
type workerPool struct {
	workers []*worker
}

// worker is the workspace of one goroutine.
type worker struct {
	rows    []float32 // tile x d, gathered
	dots    []float32 // tile x k
	scores  []float32 // tile x k
	weights []float32 // tile x k
	// tile x exampleTile: products in z-space, and in u-space or along the metric's directions
	products, moved []float32
	gathered        [2][]float32 // tile x d, and tile x d or directions: rows that are compared
	examples        []exampleRow // exampleTile: what they are compared with
	ones            []float32    // exampleTile: squared lengths of these in u-space
	near            []int32      // exampleTile: those that are near an item
	own             blockProportions
	choice          choice
}

func (c *workerPool) resize(workers int) {
	for len(c.workers) < workers {
		c.workers = append(c.workers, &worker{})
	}
	c.workers = c.workers[:workers]
}

// size allocates for tiles of k classes.
func (c *workerPool) size(k int) {
	for _, w := range c.workers {
		w.dots, w.scores, w.weights = vector.Resize(w.dots, tile*k), vector.Resize(w.scores, tile*k), vector.Resize(w.weights, tile*k)
		w.choice.size(k)
	}
}

// run runs blocks 0 to count-1.
func (c *workerPool) run(count int, do func(w *worker, block int)) {
	parallel.Each(len(c.workers), count, func(number, block int) { do(c.workers[number], block) })
}

// runWith is run for what every small episode does: what the blocks share is passed, so that a single worker needs no
// memory for a closure.
func runWith[T any](e *episode, count int, shared T, do func(e *episode, w *worker, shared T, block int)) {
	if len(e.pool.workers) > 1 {
		e.pool.run(count, func(w *worker, block int) { do(e, w, shared, block) })
		return
	}
	for block := range count {
		do(e, e.pool.workers[0], shared, block)
	}
}
