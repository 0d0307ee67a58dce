package record

// PastOptions says by which options the records before an offset were read. They name streams, and an item's answer
// is known by its stream: what was read by other options is read so again.
type PastOptions struct {
	Before  int64 `json:",omitempty"` // 0: all later records
	Options Options
}

// ReadPast has the decoder read the records before some offsets, in ascending order, by other options. Dimensions
// that it expects so far are expected of these records too.
func (d *Decoder) ReadPast(list ...PastOptions) error {
	for _, f := range list {
		o := f.Options
		o.Schemas, o.DimensionGivenUp = d.options.Schemas, d.options.DimensionGivenUp
		decoder, err := NewDecoder(o)
		if err != nil {
			return err
		}
		for model, a := range d.models {
			if a.dimension > 0 {
				decoder.Expect(model, a.dimension)
			}
		}
		d.past, d.decoders = append(d.past, f), append(d.decoders, decoder)
	}
	return nil
}

// at returns the decoder of the record at an offset.
func (d *Decoder) at(offset int64) *Decoder {
	for i := range d.past {
		if offset < d.past[i].Before {
			return d.decoders[i]
		}
	}
	return d
}
