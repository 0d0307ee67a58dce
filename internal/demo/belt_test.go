package demo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// The same belt for the same seed; bursts of few things; a newcomer that comes late; strangers; pictures a
// browser shows.
func TestBelt(t *testing.T) {
	a, b := NewBelt(7), NewBelt(7)
	if teachers := a.Teachers(); len(teachers) != 10 || teachers[4].Thing != "coat" {
		t.Errorf("%d teachers", len(teachers))
	}
	const n = 3000
	changes, strangers, came := 0, 0, map[string]int{}
	var window []string
	for i := range n {
		p, q := a.Next(), b.Next()
		if p.ID != q.ID || p.Thing != q.Thing || !bytes.Equal(p.Pixels, q.Pixels) {
			t.Fatal("the same seed, another belt")
		}
		if p.stranger {
			strangers++
			continue
		}
		if p.Thing == Newcomer && i < NewcomerAfter {
			t.Errorf("the newcomer comes as picture %d", i)
		}
		came[p.Thing]++
		if window = append(window, p.Thing); len(window) > 20 {
			window = window[1:]
		}
		things := map[string]bool{}
		for _, thing := range window {
			things[thing] = true
		}
		changes += len(things)
	}
	if mean := float64(changes) / n; mean > 6 {
		t.Errorf("%.1f things in 20 pictures: no bursts", mean)
	}
	if len(came) != 11 || strangers < n/100 || strangers > n/25 {
		t.Errorf("%d things and %d strangers", len(came), strangers)
	}
	for thing, count := range came {
		if count < n/40 {
			t.Errorf("%s came %d times", thing, count)
		}
	}
	p := a.Next()
	e, err := p.Example()
	if err != nil {
		t.Fatal(err)
	}
	if bad := record.CheckVector(e.Vector); bad != nil {
		t.Error(bad)
	}
	var about struct{ Image, Truth string }
	if err := json.Unmarshal(e.Attributes, &about); err != nil || about.Truth != p.Thing ||
		!strings.HasPrefix(about.Image, "data:image/png;base64,") {
		t.Errorf("%s: %v", e.Attributes, err)
	}
}
