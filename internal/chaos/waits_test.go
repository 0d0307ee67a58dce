package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A record that waits for longer than a minute is reported once. The minute starts again at the end of an
// outage, unless the record was late before.
func TestWaits(t *testing.T) {
	h := newHistory(nil)
	w := newWaits(h)
	w.sent([]string{"a", "b", "c", "d"}, inTopic)
	age := func(id string, by time.Duration) {
		p := w.pending[id]
		p.sent, p.since = p.sent.Add(-by), p.since.Add(-by)
		w.pending[id] = p
	}
	w.result([]byte(`{"itemId":"a"}`))
	w.result([]byte(`{"itemId":"a"}`))
	w.result([]byte(`{"itemId":"unheard of"}`))
	if w.late() || w.left() != 3 {
		t.Errorf("late %v, %d left", w.late(), w.left())
	}
	age("b", 2*mostWait)
	w.begin()
	if w.late() {
		t.Error("late in an outage")
	}
	w.over()
	if w.late() {
		t.Error("late right after an outage")
	}
	age("c", 2*mostWait)
	if first, again := w.late(), w.late(); !first || !again || len(h.failed()) != 1 {
		t.Errorf("violations %q, want one", h.failed())
	}
	w.forget(besideTopic)
	w.forget(inTopic)
	if c := w.counts(); c.sent != 4 || c.results != 1 || c.repeats != 1 || c.gone != 3 || c.overdue != 1 {
		t.Errorf("counts %+v", c)
	}
}

// Measurements are written as values and as a picture.
func TestTable(t *testing.T) {
	values, picture := filepath.Join(t.TempDir(), "values.csv"), filepath.Join(t.TempDir(), "picture.svg")
	table, err := newTable(values)
	if err != nil {
		t.Fatal(err)
	}
	table.add(row{seconds: 5, steady: 100 << 20, lag: 3})
	table.add(row{
		seconds: 10, steady: 110 << 20, other: 50 << 20, lag: -1,
		counts: counts{sent: 7, oldest: time.Second},
	})
	table.close()
	if err := table.draw(picture); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(values)
	if err != nil || !strings.HasSuffix(string(text), "\n10,110,50,-1,1.0,7,0,0,0\n") {
		t.Errorf("%v: %s", err, text)
	}
	if svg, err := os.ReadFile(picture); err != nil || strings.Count(string(svg), "<polyline") != 4 {
		t.Errorf("%v: %s", err, svg)
	}
}
