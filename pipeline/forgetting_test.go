package pipeline

import (
	"strings"
	"testing"
)

func TestUntil(t *testing.T) {
	for retention, want := range map[string]string{
		"-1": "for ever", "9223372036854775807": "for ever", "4000000000000": "for ever", "x": "for ever",
		"604800000": "and a segment more",
	} {
		got := until(map[string]string{"cleanup.policy": "delete", "retention.ms": retention})
		if !strings.Contains(got, want) {
			t.Errorf("retention.ms %s: %s", retention, got)
		}
	}
}
