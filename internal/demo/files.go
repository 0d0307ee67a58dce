package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

// picturesOfFiles is the number of pictures in a minute, at 40 a second.
const picturesOfFiles = 2400

// File describes a file that WriteFiles wrote.
type File struct {
	Path, What string
}

// WriteFiles writes a minute of the belt to a folder, which it makes: as JSON Lines with pictures and names,
// and as .npy.
func WriteFiles(dir string, seed uint64) ([]File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	belt := NewBelt(seed)
	names := append(slices.Clone(belt.Names()), Newcomer)
	path := func(name string) string { return filepath.Join(dir, name) }
	var items, support rows
	for range picturesOfFiles {
		if err := items.add(belt.Next(), names, false); err != nil {
			return nil, err
		}
	}
	for _, p := range belt.Teachers() {
		if err := support.add(p, names, true); err != nil {
			return nil, err
		}
	}
	of := func(n int, what string) string { return fmt.Sprintf("%d %s", n, what) }
	n, m := len(items.classes), len(support.classes)
	files := []File{
		{path("items.jsonl"), of(n, "items with their pictures, to feed or to label")},
		{path("support.jsonl"), of(m, "labelled examples, with names")},
		{path("X.npy"), of(n, fmt.Sprintf("x %d float32: the items' vectors", items.dimension))},
		{path("y.npy"), of(n, "int32: their classes, rows of names.txt from 0; -1: a stranger")},
		{path("S.npy"), of(m, fmt.Sprintf("x %d float32: the examples' vectors", support.dimension))},
		{path("L.npy"), of(m, "int32: their classes")},
		{path("names.txt"), of(len(names), "names of the classes")},
	}
	return files, errors.Join(
		os.WriteFile(files[0].Path, items.lines, 0o644),
		os.WriteFile(files[1].Path, support.lines, 0o644),
		array.WriteNPYFile(files[2].Path, items.vectors, n, items.dimension),
		array.WriteNPYFile(files[3].Path, items.classes, n),
		array.WriteNPYFile(files[4].Path, support.vectors, m, support.dimension),
		array.WriteNPYFile(files[5].Path, support.classes, m),
		os.WriteFile(files[6].Path, []byte(strings.Join(names, "\n")+"\n"), 0o644),
	)
}

// rows are pictures as the files have them.
type rows struct {
	lines     []byte
	vectors   []float32
	classes   []int32
	dimension int
}

func (r *rows) add(p Picture, names []string, labelled bool) error {
	e, err := p.Example()
	if err != nil {
		return err
	}
	if labelled {
		e.Label = p.Thing
	}
	r.lines = append(record.AppendExample(r.lines, &e), '\n')
	r.vectors, r.dimension = append(r.vectors, e.Vector...), len(e.Vector)
	r.classes = append(r.classes, int32(slices.Index(names, p.Thing)))
	return nil
}
