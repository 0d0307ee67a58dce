package record

import "math"

// Position is an embedding's position in its partition: the offset of its record, and the index of the object
// in the record, -1 if the record is the embedding. Positions order the embeddings of a partition.
type Position struct {
	Offset int64
	Object int32
}

// NoPosition is before every position.
var NoPosition = Position{Offset: -1, Object: -1}

// Start returns the first position of the record at offset.
func Start(offset int64) Position { return Position{Offset: offset, Object: -1} }

// End returns the position behind every object of p's record, and before the next record.
func (p Position) End() Position { return Position{Offset: p.Offset, Object: math.MaxInt32} }

// After says whether p is later than q.
func (p Position) After(q Position) bool {
	return p.Offset > q.Offset || p.Offset == q.Offset && p.Object > q.Object
}

// Next returns the position after p: of the next object if p has one, else of the next record.
func (p Position) Next() Position {
	if p.Object < 0 {
		return Start(p.Offset + 1)
	}
	return Position{p.Offset, p.Object + 1}
}

// Position returns the source's position within its partition.
func (s Source) Position() Position { return Position{s.Offset, s.Object} }
