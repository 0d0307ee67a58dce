package record

// Place is where an embedding stands in its partition: the offset of its record, and the object within it, -1
// where the record is the embedding. Places order the embeddings of a partition.
type Place struct {
	Offset int64
	Object int32
}

// Nowhere is before every place.
var Nowhere = Place{Offset: -1, Object: -1}

// Start is the first place a record at offset can hold.
func Start(offset int64) Place { return Place{Offset: offset, Object: -1} }

// After tells whether p comes later than q.
func (p Place) After(q Place) bool {
	return p.Offset > q.Offset || p.Offset == q.Offset && p.Object > q.Object
}

// Next is the place right behind p.
func (p Place) Next() Place {
	if p.Object < 0 {
		return Start(p.Offset + 1)
	}
	return Place{p.Offset, p.Object + 1}
}

// Place of the source within its partition.
func (s Source) Place() Place { return Place{s.Offset, s.Object} }
