package main

import (
	"strings"
	"testing"
	"time"
)

// Each broken promise of first answers is found, and no violation if all are kept.
func TestBrokenPromisesOfFirstAnswersAreFound(t *testing.T) {
	at := time.UnixMilli(1000)
	in := &truth{items: map[string]string{"in/0/1": "a", "in/0/2": "a"}}
	got := &answers{at: map[string]time.Time{"in/0/1": at}}
	for _, c := range []struct {
		id    string
		first firstAnswer
		want  string
	}{
		{"in/0/1", firstAnswer{at, 1}, ""},
		{"in/0/2", firstAnswer{at, 1}, ""},
		{"in/0/1", firstAnswer{at, 2}, "now twice"},
		{"in/0/1", firstAnswer{at.Add(time.Millisecond), 1}, "now late"},
		{"in/0/3", firstAnswer{at, 1}, "now strange"},
	} {
		h := newHistory(nil)
		verifyFirst(&limited{h: h}, in, got, map[string]firstAnswer{c.id: c.first})
		found := strings.Join(h.failed(), " ")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%s %+v: %q, not %q", c.id, c.first, found, c.want)
		}
	}
}
