package config

import (
	"fmt"
	"strconv"
	"time"
)

// Backfill is the range a backfill answers. Ends are RFC 3339, an offset, earliest or latest.
type Backfill struct {
	From, To  string
	Job       string
	FromState string
}

func (b *Backfill) title() string { return "Backfill" }

func (b *Backfill) settings() []Setting {
	return takenBy([]string{"backfill"},
		define("from", &b.From, "earliest", "where the range begins: RFC 3339, an offset, earliest or latest").example("PLACE"),
		define("to", &b.To, "latest", "where the range ends, itself left out; latest is fixed once at the start").example("PLACE"),
		define("job", &b.Job, "", "name of the job: its processes share one plan under it, and a rerun resumes").example("NAME").needed("backfill"),
		define("from-state", &b.FromState, "", "group whose state to start from; none: cold").example("GROUP"),
	)
}

func (b *Backfill) faults(*Config) []Fault {
	var found []Fault
	for _, end := range []struct{ name, value string }{{"from", b.From}, {"to", b.To}} {
		if end.value == "earliest" || end.value == "latest" {
			continue
		}
		if offset, err := strconv.ParseInt(end.value, 10, 64); err == nil && offset >= 0 {
			continue
		}
		if _, err := time.Parse(time.RFC3339, end.value); err != nil {
			found = append(found, Fault{Setting: end.name, Problem: fmt.Sprintf("is %s: must be a time such as 2026-03-01T00:00:00Z, an offset, earliest or latest", shown(end.value))})
		}
	}
	return found
}
