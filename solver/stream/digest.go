package stream

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// Digest names labelled examples by what they hold; "": there are none. Their IDs do not count, which name the file
// where an example has none of its own.
func Digest(examples []Example) string {
	if len(examples) == 0 {
		return ""
	}
	sum := sha256.New()
	var number [4]byte
	for i := range examples {
		e := &examples[i]
		fmt.Fprintf(sum, "%q %q %d ", e.Label, e.Model, len(e.Vector))
		for _, v := range e.Vector {
			binary.LittleEndian.PutUint32(number[:], math.Float32bits(v))
			sum.Write(number[:])
		}
	}
	return fmt.Sprintf("%d examples, %x", len(examples), sum.Sum(nil)[:8])
}
