package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// NewDecoder makes the partition's decoder. It expects the dimensions stored in the state, and those of
// labelled examples until records show another.
func (i *Intake) NewDecoder() (*record.Decoder, error) {
	o := i.of.Decode
	o.DimensionGivenUp = i.dimensionGivenUp
	decoder, err := record.NewDecoder(o)
	if err != nil {
		return nil, err
	}
	for model, d := range i.dimensions {
		decoder.Expect(model, d)
	}
	for model, d := range labels.LabelledDimensions(i.of.Labels.Current().Labels.All()) {
		decoder.Suggest(model, d.Dimension, d.Examples)
	}
	return decoder, decoder.ReadPast(i.reading[:max(0, len(i.reading)-1)]...)
}

// decodeBy sets how the partition's records are read: those that a journal's owner had read as it read them, and
// later ones by the options of now. Answers are known by stream, and so would have no meaning, or another one,
// where the records of a stream are found by other options. needed is the lowest offset that is read again.
func (i *Intake) decodeBy(journal string, read, needed int64) error {
	now := record.PastOptions{Options: i.of.Decode}
	if journal != "" {
		if err := json.Unmarshal([]byte(journal), &i.reading); err != nil {
			return fmt.Errorf("how the records were read: %w", err)
		}
	}
	if n := len(i.reading); n > 0 && !sameDecoding(i.reading[n-1], now) {
		i.log.Warn("settings by which records are read have changed: they hold for records that were not read before",
			"from", read)
		i.reading[n-1].Before = read
		i.reading = append(i.reading, now)
	}
	i.reading = slices.DeleteFunc(i.reading, func(f record.PastOptions) bool { return f.Before != 0 && f.Before <= needed })
	if len(i.reading) == 0 {
		i.reading = []record.PastOptions{now}
	}
	text, err := json.Marshal(i.reading)
	i.journalled = string(text)
	return err
}

// sameDecoding compares what a journal says of them.
func sameDecoding(a, b record.PastOptions) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// dimensionGivenUp logs which dead letters hold good records after all. It is called from the goroutine that
// reads the partition, not from the partition's own.
func (i *Intake) dimensionGivenUp(c record.DimensionChange) {
	i.log.Error(
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
