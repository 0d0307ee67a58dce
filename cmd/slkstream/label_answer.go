package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// answerer labels the episodes of a file in order.
type answerer interface {
	answer(context.Context, *rowsOfFile) ([]table.Answer, error)
}

func newAnswerer(c *config.Config, log *slog.Logger) (answerer, error) {
	if c.Files.K > 0 {
		return newClusterer(c, log)
	}
	settings, err := memorySettings(c)
	if err != nil {
		return nil, usageError{err}
	}
	settings.Time = false // the order of a file's rows says nothing
	engine, err := stream.NewEngine(settings)
	if err != nil {
		return nil, usageError{err}
	}
	support, err := readSupport(c)
	if err != nil {
		return nil, err
	}
	if len(support) == 0 {
		return nil, fmt.Errorf("support: no labelled row in %v", c.Stage.Support)
	}
	return &supported{engine: engine, stream: stream.New("file", settings), labels: &stream.Labels{Everyone: support}, dimension: len(support[0].Vector), model: c.Stage.Model}, nil
}

// supported labels as the stage does: the file is one stream.
type supported struct {
	engine    *stream.Engine
	stream    *stream.Stream
	labels    *stream.Labels
	dimension int
	model     string
	rows      int64
}

func (s *supported) answer(ctx context.Context, rows *rowsOfFile) ([]table.Answer, error) {
	if rows.dimension != s.dimension {
		return nil, fmt.Errorf("rows of %d numbers, but the support has %d (input, support)", rows.dimension, s.dimension)
	}
	items := make([]stream.Item, rows.len())
	for i := range items {
		items[i] = stream.Item{
			ID: rows.ids[i], Vector: rows.vectors[i*rows.dimension : (i+1)*rows.dimension], Label: rows.labels[i], Model: s.model,
			Position: stream.Position{Offset: s.rows, Object: -1},
		}
		s.rows++
	}
	answers, _, err := s.stream.Answer(ctx, s.engine, items, s.labels)
	if err != nil {
		return nil, err
	}
	out := make([]table.Answer, len(answers))
	for i, a := range answers {
		out[i] = table.Answer{Label: a.Label, Confidence: sixDecimals(a.Confidence), Calibrated: a.Calibrated, Unknown: a.Unknown, UnknownScore: sixDecimals(a.UnknownScore)}
	}
	return out, nil
}

// clusterer parts a file into K clusters. Where the file is cut into episodes, the first one makes the clusters; they
// carry over to the later ones as a prior, so that a cluster keeps its number.
type clusterer struct {
	log     *slog.Logger
	k       int
	search  index.Options
	solver  *solver.Solver
	means   []float32
	weights []float32
}

func newClusterer(c *config.Config, log *slog.Logger) (*clusterer, error) {
	settings, err := solver.Clustering(cmp.Or(solver.Method(c.Solver.Method()), solver.SLKMeans))
	if err != nil {
		return nil, usageError{err}
	}
	give(&settings, c.Solver)
	s, err := solver.New(settings)
	if err != nil {
		return nil, usageError{err}
	}
	return &clusterer{log: log, k: c.Files.K, solver: s, search: index.Options{Rho: settings.Rho, Method: c.Index.Method, RecallFloor: c.Index.RecallFloor, Seed: settings.Seed, Cosine: true}}, nil
}

func (c *clusterer) answer(ctx context.Context, rows *rowsOfFile) ([]table.Answer, error) {
	n, d := rows.len(), rows.dimension
	if n < c.k && c.means == nil {
		return nil, fmt.Errorf("%d rows cannot be parted into %d clusters (k)", n, c.k)
	}
	neighbours, err := index.Build(ctx, rows.vectors, n, d, c.search)
	if err != nil {
		return nil, err
	}
	if warning := neighbours.Report.Warning; warning != "" {
		c.log.Warn("neighbours: "+warning, "rows", n, "dimension", d)
	}
	p := &solver.Problem{Rows: rows.vectors, N: n, D: d, K: c.k, Embedding: &solver.Embedding{Mean: make([]float32, d)}, Affinity: neighbours.Symmetric()}
	if c.means != nil {
		p.Prior = &solver.Prior{Means: c.means, Weights: c.weights}
	}
	r, err := c.solver.Solve(ctx, p)
	if err != nil {
		return nil, err
	}
	c.remember(r, n, d)
	out := make([]table.Answer, n)
	for i := range out {
		out[i] = table.Answer{Label: strconv.Itoa(int(r.Labels[i])), Confidence: sixDecimals(float64(slices.Max(r.S[i*c.k : (i+1)*c.k])))}
	}
	return out, nil
}

// remember moves each cluster's mean by what the episode put into it. A mean never weighs more than one episode's share,
// so that clusters can follow a drift.
func (c *clusterer) remember(r *solver.Result, n, d int) {
	if c.means == nil {
		c.means, c.weights = make([]float32, c.k*d), make([]float32, c.k)
	}
	for k := range c.k {
		mean := c.means[k*d : (k+1)*d]
		for j := range mean {
			mean[j] *= c.weights[k]
		}
		for i := range n {
			s := r.S[i*c.k+k]
			if s < 1e-6 {
				continue
			}
			c.weights[k] += s
			for j, z := range r.Z[i*d : (i+1)*d] {
				mean[j] += s * z
			}
		}
		if c.weights[k] > 0 {
			for j := range mean {
				mean[j] /= c.weights[k]
			}
		}
		c.weights[k] = float32(math.Min(float64(c.weights[k]), float64(n)/float64(c.k)))
	}
}

// sixDecimals is how scores are written, on topics as in files.
func sixDecimals(v float64) float64 { return math.Round(v*1e6) / 1e6 }
