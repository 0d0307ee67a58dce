package index

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coder/hnsw"
)

// The library can save a graph with what stands in for the package it does that with (internal/renameio).
func TestLibrarySavesAGraph(t *testing.T) {
	path := filepath.Join(t.TempDir(), "graph")
	saved, err := hnsw.LoadSavedGraph[int](path)
	if err != nil {
		t.Fatal(err)
	}
	saved.Add(hnsw.MakeNode(7, hnsw.Vector{1, 2}))
	if err := saved.Save(); err != nil {
		t.Fatal(err)
	}
	again, err := hnsw.LoadSavedGraph[int](path)
	if err != nil {
		t.Fatal(err)
	}
	if v, found := again.Lookup(7); !found || v[1] != 2 {
		t.Errorf("saved and loaded: %v, %v", v, found)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("%d files are left, not 1", len(entries))
	}
}
