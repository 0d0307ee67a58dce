package main

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/evaluate"
)

func drawnRows() []*evaluate.BatteryRow {
	var rows []*evaluate.BatteryRow
	ece := .1
	for _, set := range []string{"a", "b/c"} {
		for shots := range 10 {
			for seed := range uint64(2) {
				rows = append(rows, &evaluate.BatteryRow{
					BatteryCell: evaluate.BatteryCell{
						Kind: "stream", Set: set, Order: "rows", Support: "first", Shots: shots, Teach: .03, Episode: 8,
					},
					Seed: seed, Right: .501 + .01*float64(shots), ECE: &ece,
					// each rival is ahead of the other with one seed: the best is so in the mean
					Rivals: map[string]float64{"one": .5 + .1*float64(seed), "other": .59 - .1*float64(seed)},
				})
			}
		}
	}
	return rows
}

// The best rival of a cell is that of the mean over seeds, the worst tenth is of cells, and a figure that no row
// has is unknown, not nought.
func TestBatterySummary(t *testing.T) {
	cells := scoreCells(drawnRows())
	if len(cells) != 20 || cells[0].rival != "one" || math.Abs(cells[0].best-.55) > 1e-9 {
		t.Fatalf("%d cells, the first %+v", len(cells), cells[0])
	}
	s := summarise(cells)
	if s.cells != 20 || s.behind != 8 || math.Abs(s.lead+.004) > 1e-9 || math.Abs(s.tenth+.049) > 1e-9 ||
		math.Abs(s.ece-.1) > 1e-9 || !math.IsNaN(s.find) || share(s.find) != "" {
		t.Errorf("%+v", s)
	}
	if s.error > 1e-9 {
		t.Errorf("two equal sets, standard error %g", s.error)
	}
}

// What a run writes is read again, its table can be quoted, and two builds are compared row by row.
func TestBatteryAgainstAnotherBuild(t *testing.T) {
	before := drawnRows()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := writeRows(path, before); err != nil {
		t.Fatal(err)
	}
	read, err := readRows(path)
	if err != nil || !reflect.DeepEqual(read, before) {
		t.Fatalf("%v: not what was written", err)
	}
	now := drawnRows()[:30] // not every cell: a quick run has fewer
	for _, row := range now {
		if row.Right += .02; row.Set == "b/c" {
			row.Right += .02
		}
	}
	b := &bench{Against: path}
	b.begin(section{title: "A title", alone: true})
	b.battery(&battery{done: now})
	if err := b.against(now); err != nil {
		t.Fatal(err)
	}
	text := b.end()
	for _, want := range []string{
		"| streams | 30 | +0.0267 ±", "| streams, a | 20 | +0.0200 ± 0.0000 |", "| streams, b/c | 10 | +0.0400 ± 0.0000 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got := figuresOf(text)["battery.stream.b.c.rows.first.shots-2.taught-3.of-8"]; got != "0.561" {
		t.Errorf("figure %q", got)
	}
}
