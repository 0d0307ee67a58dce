package pipeline

import (
	"bytes"
	"log/slog"
	"sync"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
)

// The dead letters of a process hold as many bytes a second as this of records that nothing can read. Beyond
// it they keep only the beginning: each bad record still has its letter, but what one sender sends, and
// inflates, is not written out at the cost of everybody else.
const (
	letterRate  = 4 << 20 // bytes a second
	letterStart = 4 << 10 // bytes that are kept beyond
	// letterUseful is the size up to which a record that cannot be read may be of another format than the
	// settings say, and good once they are right.
	letterUseful = 64 << 10
)

// letters counts what the dead letters hold.
type letters struct {
	mutex sync.Mutex
	at    time.Time
	debt  float64 // bytes that are written and not paid for by the time since
}

// whole says whether a letter of n bytes may be written whole.
func (l *letters) whole(n int, now time.Time) bool {
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

// letter is the dead letter of a record. One that a replay could make something of is never cut: only what is
// too large, and what cannot be read and is larger than embeddings are.
func (s *Stage) letter(log *slog.Logger, r *consumer.Record, now time.Time) record.Out {
	limit, size := 0, len(r.Raw.Value)
	useless := r.Rejected.Fault == record.TooLarge && size > letterStart ||
		r.Rejected.Fault == record.Unreadable && size > letterUseful
	if useless && !s.letters.whole(size, now) {
		limit = letterStart
		s.metrics.cutLetters.Add(1)
		s.warned.once("letters", func(int) {
			log.Warn("more cannot be read than the dead letters take: they keep its beginning",
				"topic", r.Raw.Topic, "offset", r.Offset, "bytes", size, "kept", limit)
		})
	}
	out := record.DeadLetter(s.options.Dead, r.Raw, r.Rejected.Error(), limit)
	if limit > 0 {
		out.Value = bytes.Clone(out.Value) // lets go of the rest
	}
	return out
}
