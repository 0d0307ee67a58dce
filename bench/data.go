package main

import (
	"os"
	"path/filepath"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/sample"
)

// Sets returns the folders of those named sets that exist under --data. Without --data, or if none exists, it
// writes the tree's sample data to a temporary folder, which forget removes.
func (b *bench) Sets(names ...string) (folders []string, forget func(), err error) {
	for _, name := range names {
		folder := filepath.Join(b.Data, name)
		if _, err := os.Stat(filepath.Join(folder, "X.npy")); b.Data != "" && err == nil {
			folders = append(folders, folder)
		}
	}
	if len(folders) > 0 {
		return folders, func() {}, nil
	}
	root, forget, err := sampleRoot()
	if err != nil {
		return nil, nil, err
	}
	folders, err = evaluate.FindSets(root)
	return folders, forget, err
}

// Root returns --data, or without it a temporary folder with the tree's sample data, which forget removes.
func (b *bench) Root() (root string, forget func(), err error) {
	if b.Data != "" {
		return b.Data, func() {}, nil
	}
	return sampleRoot()
}

// sampleRoot writes the tree's sample data to a temporary folder, which forget removes.
func sampleRoot() (root string, forget func(), err error) {
	if root, err = os.MkdirTemp("", "slkstream-bench-*"); err != nil {
		return "", nil, err
	}
	forget = func() { os.RemoveAll(root) }
	defer func() {
		if err != nil {
			forget()
		}
	}()
	for name, set := range map[string]*sample.Set{
		"sample-digits":  sample.Digits(),
		"sample-fashion": sample.Fashion(),
	} {
		folder := filepath.Join(root, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			return "", nil, err
		}
		rows := set.Rows()
		if err := array.WriteNPYFile(filepath.Join(folder, "X.npy"), rows, set.N(), len(rows)/set.N()); err != nil {
			return "", nil, err
		}
		if err := array.WriteNPYFile(filepath.Join(folder, "y.npy"), set.Labels, set.N()); err != nil {
			return "", nil, err
		}
	}
	return root, forget, nil
}

// some returns a set, or its first rows in a quick run.
func (b *bench) some(set *evaluate.Set) *evaluate.Set {
	if n := 5000; b.Quick && set.N > n {
		set.Rows, set.Labels, set.N = set.Rows[:n*set.D], set.Labels[:n], n
	}
	return set
}

// fewShotSets are the sets for which accuracy has bars.
var fewShotSets = []string{"clip-dtd", "clip-flowers", "clip-caltech101", "grocery", "omniglot28"}
