package pipeline

import (
	"log/slog"
	"maps"
	"slices"
	"time"
)

// tally counts unusable or empty records by reason and logs them: the first of each reason at once, then the
// counts once a minute. It must be used by one goroutine only.
type tally struct {
	what   string // the log message
	counts map[string]*counted
	told   time.Time
}

// counted holds the records of one reason.
type counted struct {
	records int64 // since they were last logged
	latest  string
	offset  int64 // of the latest
}

const tallyEvery = time.Minute

// add counts a record. detail adds to the reason; "": nothing to add.
func (t *tally) add(log *slog.Logger, reason, detail string, offset int64) {
	c := t.counts[reason]
	if c == nil {
		if t.counts == nil {
			t.counts = map[string]*counted{}
		}
		t.counts[reason] = &counted{}
		attributes := []any{"reason", reason, "offset", offset}
		if detail != "" {
			attributes = append(attributes, "detail", detail)
		}
		log.Warn(t.what+", the first of this reason", attributes...)
		return
	}
	c.records++
	c.latest, c.offset = detail, offset
}

// tell logs the counts since the last call that logged, if a minute has passed or this is the last call.
func (t *tally) tell(now time.Time, last bool, log *slog.Logger) {
	if t.told.IsZero() {
		t.told = now
	}
	if !last && now.Sub(t.told) < tallyEvery {
		return
	}
	t.told = now
	for _, reason := range slices.Sorted(maps.Keys(t.counts)) {
		c := t.counts[reason]
		if c.records == 0 {
			continue
		}
		attributes := []any{"reason", reason, "records", c.records, "offset", c.offset}
		if c.latest != "" {
			attributes = append(attributes, "detail", c.latest)
		}
		log.Warn(t.what, attributes...)
		c.records = 0
	}
}
