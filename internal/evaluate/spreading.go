package evaluate

import (
	"context"
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/stream"
)

// labelSpreading spreads labels over the neighbours of labelled and unlabelled rows (Zhou et al. 2004):
// F <- alpha S F + (1 - alpha) Y, S the normalised graph.
const labelSpreading = "label-spreading"

const (
	spreadNeighbours = 10
	spreadAlpha      = .9
	spreadSteps      = 30
)

// spreading answers each episode by labelSpreading, from all labels so far. Rows are less the mean of the class
// means of the labelled ones, and of length 1.
func (t *Trial) spreading(ctx context.Context) ([]stream.Answer, error) {
	var classes, labels []int32 // labels: of the labelled rows, numbers of classes
	var labelled [][]float32
	learn := func(row []float32, y int32) {
		c := slices.Index(classes, y)
		if c < 0 {
			c, classes = len(classes), append(classes, y)
		}
		labelled, labels = append(labelled, unitRow(row)), append(labels, int32(c))
	}
	for i, row := range t.Supports {
		learn(row, t.SupportLabels[i])
	}
	answers := make([]stream.Answer, len(t.Items))
	for _, episode := range t.Episodes {
		for _, i := range episode {
			if item := t.Items[i]; item.Taught {
				learn(item.Vector, item.Truth)
			}
		}
		if len(labelled) == 0 { // no answers yet
			continue
		}
		rows := slices.Clone(labelled)
		for _, i := range episode {
			rows = append(rows, unitRow(t.Items[i].Vector))
		}
		given, err := spreadLabels(ctx, rows, labels, len(classes))
		if err != nil {
			return nil, err
		}
		for n, i := range episode {
			answers[i].Label = className(classes[given[n]])
		}
	}
	return answers, nil
}

// spreadLabels returns the class of each row after the first len(labels), which have these.
func spreadLabels(ctx context.Context, rows [][]float32, labels []int32, k int) ([]int32, error) {
	n, d := len(rows), len(rows[0])
	means := &centredMean{}
	for i, c := range labels {
		means.learn(rows[i], int(c))
	}
	means.answer(rows[0])
	values := make([]float32, 0, n*d)
	for _, row := range rows {
		row = slices.Clone(row)
		kernel.Axpy(-1, means.mean, row)
		values = append(values, unitRow(row)...)
	}
	near, err := index.Build(ctx, values, n, d, index.Options{Rho: min(spreadNeighbours, n-1), Seed: 1})
	if err != nil {
		return nil, err
	}
	var graph index.Affinity
	near.SymmetricInto(&graph)
	scale := make([]float32, n) // degree^-1/2
	for p := range n {
		_, weights := graph.Row(p)
		for _, w := range weights {
			scale[p] += w
		}
		scale[p] = float32(1 / math.Sqrt(max(float64(scale[p]), 1e-12)))
	}
	f, next := make([]float32, n*k), make([]float32, n*k)
	for p, c := range labels {
		f[p*k+int(c)] = 1
	}
	for range spreadSteps {
		clear(next)
		for p := range n {
			columns, weights := graph.Row(p)
			for j, q := range columns {
				kernel.Axpy(spreadAlpha*weights[j]*scale[p]*scale[q], f[int(q)*k:int(q)*k+k], next[p*k:p*k+k])
			}
			if p < len(labels) {
				next[p*k+int(labels[p])] += 1 - spreadAlpha
			}
		}
		f, next = next, f
	}
	out := make([]int32, n-len(labels))
	for i := range out {
		row := f[(len(labels)+i)*k : (len(labels)+i+1)*k]
		out[i] = int32(slices.Index(row, slices.Max(row)))
	}
	return out, nil
}
