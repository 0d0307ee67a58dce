package pipeline

import (
	"log/slog"
	"maps"
	"slices"
	"time"
)

// reasonCounts counts unusable or empty records by reason and logs them: the first of each reason at once,
// then the counts once a minute. It must be used by one goroutine only.
type reasonCounts struct {
	what     string // the log message
	counts   map[string]*counted
	reported time.Time
}

// counted holds the records of one reason.
type counted struct {
	records int64 // since they were last logged
	latest  string
	offset  int64 // of the latest
}

const reportEvery = time.Minute

// add counts a record. detail adds to the reason; "": nothing to add.
func (t *reasonCounts) add(log *slog.Logger, reason, detail string, offset int64) {
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

// report logs the counts since the last call that logged, if a minute has passed or this is the last call.
func (t *reasonCounts) report(now time.Time, last bool, log *slog.Logger) {
	if t.reported.IsZero() {
		t.reported = now
	}
	if !last && now.Sub(t.reported) < reportEvery {
		return
	}
	t.reported = now
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
