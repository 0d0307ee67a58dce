package pipeline

import (
	"github.com/slkstream/slkstream/internal/record"
)

// newDecoder makes the partition's decoder. It expects the dimensions stored in the state, and those of
// labelled examples until records show another.
func (p *partition) newDecoder() (*record.Decoder, error) {
	o := p.stage.options.Decode
	o.DimensionGivenUp = p.dimensionGivenUp
	decoder, err := record.NewDecoder(o)
	if err != nil {
		return nil, err
	}
	for model, d := range p.dimensions {
		decoder.Expect(model, d)
	}
	for model, d := range p.stage.labels.current.Load().dimensions() {
		decoder.Suggest(model, d.dimension, d.examples)
	}
	return decoder, nil
}

// dimensionGivenUp logs which dead letters hold good records after all. It is called from the goroutine that
// reads the partition, not from the partition's own.
func (p *partition) dimensionGivenUp(c record.DimensionChange) {
	p.log.Error("the dimension of the vectors proved wrong and is given up: records that were refused for it are good, replay them from the dead letters",
		"model", c.Model, "was", c.From, "is", c.To, "first", c.First.Offset, "last", c.Last.Offset, "refused", c.Refused)
}

// labelledDimension is the most frequent dimension among a model's labelled examples, and its
// number of examples.
type labelledDimension struct{ dimension, examples int }

// labelledDimensions counts the examples of each model and dimension.
type labelledDimensions map[string]map[int]int

func (l labelledDimensions) add(model string, dimension int) {
	if l[model] == nil {
		l[model] = map[int]int{}
	}
	l[model][dimension]++
}

// most returns, for each model, the dimension of most examples; of equals, the smallest.
func (l labelledDimensions) most() map[string]labelledDimension {
	all := make(map[string]labelledDimension, len(l))
	for model, counts := range l {
		var best labelledDimension
		for d, n := range counts {
			if n > best.examples || n == best.examples && d < best.dimension {
				best = labelledDimension{d, n}
			}
		}
		all[model] = best
	}
	return all
}
