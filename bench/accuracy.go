package main

import "slices"

// accuracyTable holds the accuracy of methods over sets and cells.
type accuracyTable struct {
	methods []string
	cells   []accuracyCell
}

type accuracyCell struct {
	method, set, cell string
	accuracy, micros  float64
}

func newAccuracyTable() *accuracyTable { return &accuracyTable{} }

func (t *accuracyTable) add(method, set, cell string, accuracy, micros float64) {
	if !slices.Contains(t.methods, method) {
		t.methods = append(t.methods, method)
	}
	t.cells = append(t.cells, accuracyCell{method, set, cell, accuracy, micros})
}

// mean averages over cells and sets with equal weight; set "" means every set.
func (t *accuracyTable) mean(method, set string, cells []string) float64 {
	var sum, n float64
	for _, c := range t.cells {
		if c.method == method && (set == "" || c.set == set) && slices.Contains(cells, c.cell) {
			sum += c.accuracy
			n++
		}
	}
	return sum / max(1, n)
}

// micros returns the mean time of a task.
func (t *accuracyTable) micros(method string) float64 {
	var sum, n float64
	for _, c := range t.cells {
		if c.method == method {
			sum += c.micros
			n++
		}
	}
	return sum / max(1, n)
}
