package record

// Position is where an embedding stands in its partition: the offset of its record, and the object within it,
// -1 where the record is the embedding. Positions order the embeddings of a partition.
type Position struct {
	Offset int64
	Object int32
}

// NoPosition is before every position.
var NoPosition = Position{Offset: -1, Object: -1}

// Start is the first position a record at offset can hold.
func Start(offset int64) Position { return Position{Offset: offset, Object: -1} }

// After tells whether p comes later than q.
func (p Position) After(q Position) bool {
	return p.Offset > q.Offset || p.Offset == q.Offset && p.Object > q.Object
}

// Next is the position right behind p.
func (p Position) Next() Position {
	if p.Object < 0 {
		return Start(p.Offset + 1)
	}
	return Position{p.Offset, p.Object + 1}
}

// Position of the source within its partition.
func (s Source) Position() Position { return Position{s.Offset, s.Object} }
