package intake

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
)

// letterRate bounds the bytes a second of unreadable records in a process's dead letters. Beyond it, letters
// keep only a record's beginning: each bad record still has its letter, but one sender's bad records do not
// slow down the others.
const (
	letterRate  = 4 << 20 // bytes a second
	letterStart = 4 << 10 // bytes kept beyond the rate
	// letterUseful is the size up to which an unreadable record may be good, in a format other than the one set.
	letterUseful = 64 << 10
)

// rate measures the bytes a second in a process's dead letters.
type rate struct {
	mutex sync.Mutex
	at    time.Time
	debt  float64 // bytes written, reduced over time by letterRate
}

// whole says whether a letter of n bytes may be written whole.
func (l *rate) whole(n int, now time.Time) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if passed := now.Sub(l.at).Seconds(); passed > 0 {
		l.debt, l.at = max(0, l.debt-passed*letterRate), now
	}
	if l.debt >= letterRate {
		return false
	}
	l.debt += float64(min(n, letterRate))
	return true
}

// letter returns a record's dead letter. Letters that a replay could use are never cut, only those of records
// that are too large, or unreadable and larger than embeddings are.
func (s *Settings) letter(log *slog.Logger, r *consumer.Record, now time.Time) record.Out {
	limit, size := 0, len(r.Raw.Value)
	useless := r.Rejected.Fault == record.TooLarge && size > letterStart ||
		r.Rejected.Fault == record.Unreadable && size > letterUseful
	if useless && !s.rate.whole(size, now) {
		limit = letterStart
		s.Cut.Add(1)
		s.warned.Once("letters", func(int) {
			log.Warn("more bytes are unreadable than the dead letters take: letters keep the beginning of records",
				"topic", r.Raw.Topic, "offset", r.Offset, "bytes", size, "kept", limit)
		})
	}
	out := record.DeadLetter(s.Dead, r.Raw, r.Rejected.Error(), limit)
	if limit > 0 {
		out.Value = bytes.Clone(out.Value) // frees the rest
	}
	return out
}
