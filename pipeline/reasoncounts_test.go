package pipeline

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// The first record of a reason is logged at once, the others once a minute and at the end, by reason.
func TestReasonCounts(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	said := func() []string {
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		out.Reset()
		return lines
	}
	y := reasonCounts{what: "records are rejected"}
	now := time.Unix(1e9, 0)
	y.report(now, false, log)
	for i := range int64(500) {
		y.add(log, "dimension", "1280, not 249", i)
	}
	y.add(log, "value", "NaN", 500)
	if lines := said(); len(lines) != 2 || !strings.Contains(lines[0], "reason=dimension offset=0") || !strings.Contains(lines[1], "reason=value") {
		t.Errorf("at first: %q", lines)
	}
	y.report(now.Add(59*time.Second), false, log)
	if out.Len() > 0 {
		t.Errorf("before the minute: %s", out.String())
	}
	y.report(now.Add(time.Minute), false, log)
	if lines := said(); len(lines) != 1 || !strings.Contains(lines[0], "records=499 offset=499") {
		t.Errorf("after a minute: %q", lines)
	}
	y.report(now.Add(3*time.Minute), false, log)
	if out.Len() > 0 {
		t.Errorf("nothing was counted, and told: %s", out.String())
	}
	y.add(log, "value", "NaN", 501)
	y.report(now.Add(3*time.Minute), true, log)
	if lines := said(); len(lines) != 1 || !strings.Contains(lines[0], "reason=value records=1") {
		t.Errorf("at the end: %q", lines)
	}
}
