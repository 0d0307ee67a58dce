// Package index finds the rows nearest to each row. Rows come as one flat float32 slice; the result is a
// neighbour list or a symmetric sparse affinity. The package knows nothing of Kafka, files or clocks.
package index

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/vector"
)

// Neighbours lists, for each of N rows, its Rho nearest other rows, sorted by distance, ties by id. A row
// with fewer than Rho others is padded with id -1 and distance +Inf.
type Neighbours struct {
	N, Rho    int
	IDs       []int32
	Distances []float32 // Euclidean, or 1 - cosine; relative error at most a thousandth
	Report    Report
}

// Row returns the neighbours of row p, including padding, and their distances.
func (b *Neighbours) Row(p int) ([]int32, []float32) {
	return b.IDs[p*b.Rho : (p+1)*b.Rho], b.Distances[p*b.Rho : (p+1)*b.Rho]
}

// Report describes how neighbours were found.
type Report struct {
	Chosen  string  // exact, hnsw, descent
	Recall  float64 // share of true neighbours, by distance, in a sample checked exactly; 1: exact
	Floor   float64 // recall of all rows is at least this in 999 searches of 1,000; 1: exact, 0: unknown
	Sample  int     // rows checked; 0: exact
	Refined int     // number of times that the answer was refined

	Warning string // why another method was used, or recall may be below the floor; "" if neither
}

// Options configure a search for neighbours.
type Options struct {
	Rho    int    // neighbours of each row
	Method string // auto, exact, hnsw, descent; "" is auto
	Cosine bool   // cosine distance instead of Euclidean

	RecallFloor float64 // a lower approximate recall is refined, then solved exactly; 0: DefaultRecallFloor
	Inexact     bool    // keep an answer below the floor, with a warning, instead of an exact one

	// Lean does without the copy of the rows that an approximate search makes so that rows compared with each
	// other are near each other in memory.
	Lean bool

	Seed    uint64 // of approximate methods; the same seed gives the same answer
	Workers int    // goroutines; 0: GOMAXPROCS. Answers do not depend on it

	// Progress is called now and then from any goroutine, never by two at once, with done rising; may be nil.
	Progress func(stage string, done, total int64)
}

// Workspace keeps the memory of a Build for the next. Only one goroutine may use it at a time. A small Build
// in a used Workspace allocates nothing.
type Workspace struct {
	points   points
	lists    candidateLists
	snapshot snapshot // for the passes over the lists
	workers  []*worker
	result   Neighbours
}

// Build finds the neighbours of n rows of dimension d.
func Build(ctx context.Context, rows []float32, n, d int, o Options) (*Neighbours, error) {
	found, err := new(Workspace).Build(ctx, rows, n, d, o)
	if err != nil {
		return nil, err
	}
	result := *found // a copy: a pointer into the Workspace would keep all of its memory
	return &result, nil
}

// Build finds the neighbours of n rows of dimension d. The result is valid until the next Build of w. An
// error names the row for values that are NaN or infinite, for zero rows under cosine, and for values too
// large to have distances.
func (w *Workspace) Build(ctx context.Context, rows []float32, n, d int, o Options) (*Neighbours, error) {
	switch {
	case n < 0 || d < 1:
		return nil, fmt.Errorf("rows: %d rows of dimension %d", n, d)
	case len(rows)/d != n || len(rows)%d != 0:
		return nil, fmt.Errorf("rows: %d values are not %d rows of dimension %d", len(rows), n, d)
	case o.Rho < 0:
		return nil, fmt.Errorf("rho: %d neighbours", o.Rho)
	case n > maxRows:
		return nil, fmt.Errorf("rows: %d are more than %d", n, maxRows)
	}
	if !slices.Contains(Methods(), o.Method) && o.Method != "" {
		return nil, fmt.Errorf("index %q: not one of %s", o.Method, strings.Join(Methods(), ", "))
	}
	if o.Method == "hnsw" && !hnswBuilt {
		return nil, errNoHNSW
	}
	if o.RecallFloor < 0 || o.RecallFloor > 1 || o.RecallFloor != o.RecallFloor {
		return nil, fmt.Errorf("recall floor: %g is not between 0 and 1", o.RecallFloor)
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if err := w.points.take(rows, n, d, o.Cosine); err != nil {
		return nil, err
	}
	if o.Rho == 0 || n < 2 {
		w.result.reset(n, o.Rho)
		w.result.Report = exactly
		return &w.result, nil
	}
	if err := w.choose(ctx, o); err != nil {
		return nil, err
	}
	return &w.result, nil
}

// exactly is the report of an exact search.
var exactly = Report{Chosen: "exact", Recall: 1, Floor: 1}

// Methods returns the names that Options.Method may have.
func Methods() []string { return []string{"auto", "exact", "hnsw", "descent"} }

// errNoHNSW is returned for the method hnsw by a build without the library.
var errNoHNSW = errors.New(
	"index hnsw: this build has no HNSW library, because coder/hnsw does not compile on Windows; use auto, exact or descent",
)

// crossover is the number of rows up to which auto searches exactly: an estimate from the processor time of
// both methods at a few sizes in 64, 128 and 784 dimensions, not a sweep.
const crossover = 12_000

// choose runs the method asked for. Rows that fit one block are searched exactly, in one tile.
func (w *Workspace) choose(ctx context.Context, o Options) error {
	switch {
	case o.Method == "exact" || w.points.n <= block:
		return w.exact(ctx, o)
	case o.Method == "descent" || o.Method != "hnsw" && w.points.n > crossover:
		return w.approximate(ctx, "descent", w.descend, o)
	case o.Method == "hnsw":
		return w.approximate(ctx, "hnsw", w.navigate, o)
	}
	return w.exact(ctx, o)
}

// maxRows is the number of rows that 32-bit ids allow.
const maxRows = 1<<31 - 1

// reset makes room for n lists.
func (b *Neighbours) reset(n, rho int) {
	b.N, b.Rho = n, rho
	b.IDs, b.Distances = vector.Resize(b.IDs, n*rho), vector.Resize(b.Distances, n*rho)
	for i := range b.IDs {
		b.IDs[i], b.Distances[i] = -1, infinity
	}
}
