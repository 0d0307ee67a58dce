package demo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// The same belt for the same seed; bursts of few classes; teachers that never ride; pictures a browser can show.
func TestBelt(t *testing.T) {
	a, b := NewBelt(7), NewBelt(7)
	teaching := map[string]int{}
	for _, p := range a.Teachers() {
		teaching[p.Class]++
	}
	if len(teaching) != 10 || teaching["coat"] != teachers {
		t.Errorf("teachers %v", teaching)
	}
	taught := map[int]bool{}
	for _, i := range a.teachers {
		taught[i] = true
	}
	for _, list := range a.byClass {
		for _, i := range list {
			if taught[i] {
				t.Errorf("picture %d teaches and rides", i)
			}
		}
	}
	changes, last, seen := 0, map[string]bool{}, map[string]int{}
	var window []string
	const n = 3000 // more than there are, so that some come again
	for range n {
		p, q := a.Next(), b.Next()
		if p.ID != q.ID || p.Class != q.Class || !bytes.Equal(p.Pixels, q.Pixels) {
			t.Fatal("the same seed, another belt")
		}
		seen[p.Class]++
		if window = append(window, p.Class); len(window) > 20 {
			window = window[1:]
		}
		clear(last)
		for _, class := range window {
			last[class] = true
		}
		changes += len(last)
	}
	if mean := float64(changes) / n; mean > 6 {
		t.Errorf("%.1f classes in 20 pictures: no bursts", mean)
	}
	for class, count := range seen {
		if count < n/30 {
			t.Errorf("%s came %d times", class, count)
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
	if err := json.Unmarshal(e.Attributes, &about); err != nil || about.Truth != p.Class || !strings.HasPrefix(about.Image, "data:image/png;base64,") {
		t.Errorf("%s: %v", e.Attributes, err)
	}
}
