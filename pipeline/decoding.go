package pipeline

import (
	"iter"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
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
	for model, d := range labelledDimensions(p.stage.labels.Current().Labels.All()) {
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

// labelledDimension is a dimension of a model's labelled examples, and the number of these.
type labelledDimension struct{ dimension, examples int }

// labelledDimensions returns for each model the dimension of most examples; of equals, the smallest.
func labelledDimensions(examples iter.Seq2[string, *stream.Example]) map[string]labelledDimension {
	counts, most := map[space]int{}, map[string]labelledDimension{}
	for _, e := range examples {
		counts[space{e.Model, len(e.Vector)}]++
	}
	for at, n := range counts {
		if best := most[at.model]; n > best.examples || n == best.examples && at.dimension < best.dimension {
			most[at.model] = labelledDimension{at.dimension, n}
		}
	}
	return most
}
