// Command export writes the sample data of the tree as files, for the recipes of the docs and the compose file:
//
//	go run ./internal/sample/export DIR
//
// X.npy and y.npy are embeddings of pictures of clothing as a belt shows them, in bursts of a few kinds, and their classes.
// S.npy and L.npy are five labelled ones a class that are not among them; support.jsonl is the same as JSON Lines, with
// names; items.jsonl is the first 300 of X with ids.
package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/sample"
)

const (
	shots = 5
	items = 300
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: export DIR")
		os.Exit(2)
	}
	if err := export(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
}

// rows are embeddings and their classes.
type rows struct {
	vectors []float32
	classes []int32
	d       int
}

func (r *rows) add(vector []float32, class int32) {
	r.vectors, r.classes, r.d = append(r.vectors, vector...), append(r.classes, class), len(vector)
}

func export(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	set := sample.Fashion()
	var support, feed rows
	taken := make([]int, len(set.Names))
	left := make([][]int, len(set.Names))
	for i := range set.N() {
		class := set.Labels[i]
		if taken[class]++; taken[class] <= shots {
			support.add(sample.HOG(set.Image(i), set.Side), class)
		} else {
			left[class] = append(left[class], i)
		}
	}
	for _, i := range bursts(left, rand.New(rand.NewPCG(1, 1))) {
		feed.add(sample.HOG(set.Image(i), set.Side), set.Labels[i])
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	return errors.Join(
		array.WriteNPYFile(path("X.npy"), feed.vectors, len(feed.classes), feed.d),
		array.WriteNPYFile(path("y.npy"), feed.classes, len(feed.classes)),
		array.WriteNPYFile(path("S.npy"), support.vectors, len(support.classes), support.d),
		array.WriteNPYFile(path("L.npy"), support.classes, len(support.classes)),
		writeLines(path("support.jsonl"), &support, len(support.classes), "example", set.Names),
		writeLines(path("items.jsonl"), &feed, items, "item", nil),
	)
}

// bursts orders the pictures as a belt shows them: 8 to 20 of one class, then of another.
func bursts(left [][]int, random *rand.Rand) []int {
	var order []int
	for {
		var open []int
		for class, pictures := range left {
			if len(pictures) > 0 {
				open = append(open, class)
			}
		}
		if len(open) == 0 {
			return order
		}
		class := open[random.IntN(len(open))]
		n := min(8+random.IntN(13), len(left[class]))
		order = append(order, left[class][:n]...)
		left[class] = left[class][n:]
	}
}

// writeLines writes the first n rows as JSON Lines, with labels if there are names for them.
func writeLines(path string, r *rows, n int, id string, names []string) error {
	var text []byte
	for i := range n {
		e := record.Example{ID: fmt.Sprintf("%s-%d", id, i), Vector: r.vectors[i*r.d : (i+1)*r.d]}
		if names != nil {
			e.Label = names[r.classes[i]]
		}
		text = append(record.AppendExample(text, &e), '\n')
	}
	return os.WriteFile(path, text, 0o644)
}
