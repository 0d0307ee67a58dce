package stream

import "fmt"

// Inspect describes an encoded stream, whatever the settings it was learned with.
func Inspect(pieces []Piece) (Summary, error) {
	s := New("", Settings{})
	for _, piece := range pieces {
		var err error
		if piece.Name == "head" {
			_, _, err = s.decodeHead(piece.Bytes)
		} else {
			err = s.decodePart(piece.Bytes)
		}
		if err != nil {
			return Summary{}, fmt.Errorf("state %s: %w", piece.Name, err)
		}
	}
	return s.Summary(), nil
}
