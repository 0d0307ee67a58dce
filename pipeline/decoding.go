package pipeline

import (
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
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
	for model, d := range labels.LabelledDimensions(p.stage.labels.Current().Labels.All()) {
		decoder.Suggest(model, d.Dimension, d.Examples)
	}
	return decoder, nil
}

// dimensionGivenUp logs which dead letters hold good records after all. It is called from the goroutine that
// reads the partition, not from the partition's own.
func (p *partition) dimensionGivenUp(c record.DimensionChange) {
	p.log.Error(
		"the dimension of the vectors proved wrong and is given up: records that were refused for it are good, replay them from the dead letters",
		"model",
		c.Model,
		"was",
		c.From,
		"is",
		c.To,
		"first",
		c.First.Offset,
		"last",
		c.Last.Offset,
		"refused",
		c.Refused,
	)
}
