package producer

import (
	"math"

	"github.com/slkstream/slkstream/internal/topic"
)

// sequences number the records that one identity has written to each partition, from zero on. A broker takes a batch only
// if it begins with the next number, and drops one that it has already: so that a batch may be sent again when the answer
// was lost, and is there once. They may therefore only move when a batch is known to be written.
type sequences map[topic.Place]int32

// moved notes that n more records are written.
func (s sequences) moved(place topic.Place, n int) {
	s[place] = int32((int64(s[place]) + int64(n)) % (math.MaxInt32 + 1))
}
