package producer

import (
	"math"

	"github.com/slkstream/slkstream/internal/topic"
)

// sequences number the records that one identity has written to each partition, from zero on. A broker
// accepts a batch only if it begins with the next number, and drops one that it already has. So a batch whose
// answer was lost may be sent again and is written once. A number may therefore advance only when its batch
// is known to be written.
type sequences map[topic.TopicPartition]sequence

// sequence is how far one partition has been written.
type sequence struct {
	next  int32
	end   int64 // offset after the last record written
	known bool  // end is from the brokers' answer
}

// advance records that n more records are written, the first at offset base; -1: not known.
func (s sequences) advance(tp topic.TopicPartition, n int, base int64) {
	next := int32((int64(s[tp].next) + int64(n)) % (math.MaxInt32 + 1))
	s[tp] = sequence{next, base + int64(n), base >= 0}
}

// nextEpoch sets all numbers to zero, for the epoch after that in which they were written.
func (s sequences) nextEpoch() {
	for tp, written := range s {
		written.next = 0
		s[tp] = written
	}
}

// restart sets all numbers to zero, for an epoch that others may have written before.
func (s sequences) restart() {
	for tp := range s {
		s[tp] = sequence{end: -1}
	}
}

// end returns the results of Committer.StateEnd for the partition that state was written to.
func (s sequences) end(tp topic.TopicPartition) (int64, bool) {
	if at, written := s[tp]; written {
		return at.end, at.known
	}
	return -1, true
}
