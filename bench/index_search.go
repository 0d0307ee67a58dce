package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/kernel"
)

// searchSection measures searches in a fixed set of rows for vectors that are not in it.
var searchSection = section{
	name: "index-search", title: "Searches of a standing set",
	run: func(ctx context.Context, b *bench) error {
		large, small := 200_000, 50_000
		if b.Quick {
			large, small = 6_000, 3_000
		}
		folders, forget, err := b.Sets("mnist", "clip-caltech101", "mot17-05-reid")
		if err != nil {
			return err
		}
		defer forget()
		real, err := evaluate.ReadSets(folders)
		if err != nil {
			return err
		}
		sets := []graph{{name: fmt.Sprintf("clustered, %d x 128", small), rows: clusteredRows(small+searched, 128,
			3), d: 128}}
		for _, set := range real {
			set = b.some(set)
			sets = append(sets, graph{
				name: fmt.Sprintf("%s, %d x %d", set.Name, set.N, set.D),
				rows: spread(set.Rows, set.D), d: set.D,
			})
		}
		for _, n := range []int{large / 2, large} {
			sets = append(sets, graph{name: fmt.Sprintf("clustered, %d x 512", n), rows: clusteredRows(n+searched, 512,
				3), d: 512})
		}
		var table [][]string
		for _, g := range sets {
			row, err := b.standing(ctx, g)
			if err != nil {
				return err
			}
			slog.Info("searched", "row", row)
			table = append(table, row)
		}
		if err := b.grownMemory(small); err != nil {
			return err
		}
		b.Text("The %d nearest of %d vectors that are not in the set, CPU microseconds a query: an index.Memory that looks at all, one query after the other and a hundred side by side; one with a graph; hnswlib (M 16, construction 200, one thread) at the first of a few efforts with at least the graph's recall. The graph is built and tested on %d threads.",
			nearestWanted, searched, runtime.GOMAXPROCS(0))
		b.Table([]string{
			"rows", "all, one", "all, side by side", "graph, build s", "CPU s", "graph", "recall",
			"of one", "hnswlib", "its recall", "times hnswlib",
		}, table)
		return nil
	},
}

const (
	searched      = 400 // query rows: the last ones, which are not in the set
	nearestWanted = 5
)

// spread moves every n-th row to the end, so that the last rows are drawn from all of them.
func spread(rows []float32, d int) []float32 {
	n := len(rows) / d
	each := n / searched
	out, last := make([]float32, 0, len(rows)), []float32(nil)
	for i := range n {
		if row := rows[i*d : (i+1)*d]; i%each == 0 && len(last) < searched*d {
			last = append(last, row...)
		} else {
			out = append(out, row...)
		}
	}
	return append(out, last...)
}

// standing measures one set.
func (b *bench) standing(ctx context.Context, g graph) ([]string, error) {
	n := len(g.rows)/g.d - searched
	queries := make([][]float32, searched)
	for i := range queries {
		queries[i] = g.rows[(n+i)*g.d : (n+i+1)*g.d]
	}
	all, err := memoryOf(g.rows, n, g.d, -1)
	if err != nil {
		return nil, err
	}
	truth, err := all.SearchEach(queries, nearestWanted)
	if err != nil {
		return nil, err
	}
	withGraph, err := memoryOf(g.rows, n, g.d, n/2)
	if err != nil {
		return nil, err
	}
	from, cpu := time.Now(), processSeconds()
	if err := withGraph.Build(ctx); err != nil {
		return nil, err
	}
	build, buildCPU := time.Since(from).Seconds(), processSeconds()-cpu
	recall, err := recallOf(withGraph, queries, truth)
	if err != nil {
		return nil, err
	}
	each := func(m *index.Memory, queries [][]float32) func() (float64, error) {
		return func() (float64, error) {
			from := processSeconds()
			for _, query := range queries {
				if _, err := m.Search(nil, query, nearestWanted); err != nil {
					return 0, err
				}
			}
			return (processSeconds() - from) / float64(len(queries)), nil
		}
	}
	measured, err := b.Alternate(each(all, queries[:50]), func() (float64, error) {
		from := processSeconds()
		_, err := all.SearchEach(queries[:100], nearestWanted)
		return (processSeconds() - from) / 100, err
	}, each(withGraph, queries))
	if err != nil {
		return nil, err
	}
	row := []string{
		g.name, micro(measured[0]), micro(measured[1]), fmt.Sprintf("%.1f", build),
		fmt.Sprintf("%.1f", buildCPU), micro(measured[2]), fmt.Sprintf("%.4f", recall), fmt.Sprintf("%.3f",
			measured[2]/measured[0]),
	}
	if len(g.rows) > 60_000_000 {
		return append(row, "", "", ""), nil // skipped: its build takes minutes
	}
	peer, err := b.hnswlibSearch(ctx, g, n, truth, recall)
	if err != nil {
		b.Missing("hnswlib on "+g.name, err)
		return append(row, "", "", ""), nil
	}
	return append(row, micro(peer.Seconds), fmt.Sprintf("%.4f", peer.Recall),
		fmt.Sprintf("%.1f", measured[2]/peer.Seconds)), nil
}

// grownMemory shows the recall of a Memory of n rows whose graph then grows by a tenth and loses a tenth, and
// that of a rebuilt graph.
func (b *bench) grownMemory(n int) error {
	const d = 128
	total := n + n/10
	rows := clusteredRows(total+searched, d, 4)
	queries := make([][]float32, searched)
	for i := range queries {
		queries[i] = rows[(total+i)*d : (total+i+1)*d]
	}
	m, err := memoryOf(rows, n, d, n/2)
	if err != nil {
		return err
	}
	all, err := memoryOf(rows, n, d, -1)
	if err != nil {
		return err
	}
	build := func() error { return m.Build(context.Background()) }
	var table [][]string
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"built", build},
		{"a tenth added", func() error {
			for i := n; i < total; i++ {
				for _, m := range []*index.Memory{m, all} {
					if err := m.Add(uint64(i), rows[i*d:(i+1)*d]); err != nil {
						return err
					}
				}
			}
			return nil
		}},
		{"a tenth removed", func() error {
			for i := 0; i < total; i += 10 {
				m.Remove(uint64(i))
				all.Remove(uint64(i))
			}
			return nil
		}},
		{"built anew", build},
	} {
		if err := step.do(); err != nil {
			return err
		}
		truth, err := all.SearchEach(queries, nearestWanted)
		if err != nil {
			return err
		}
		cpu := processSeconds()
		recall, err := recallOf(m, queries, truth)
		if err != nil {
			return err
		}
		table = append(table, []string{
			step.name, fmt.Sprintf("%.4f", recall),
			micro((processSeconds() - cpu) / searched),
		})
	}
	b.Text("An index.Memory of %d x %d clustered rows with a graph, searched for %d vectors that it does not hold.", n, d, searched)
	b.Table([]string{"", "recall", "CPU us a query"}, table)
	return nil
}

// recallOf returns the share of the nearest, by distance, that searches find.
func recallOf(m *index.Memory, queries [][]float32, truth [][]index.Hit) (float64, error) {
	found := 0
	for i, query := range queries {
		hits, err := m.Search(nil, query, nearestWanted)
		if err != nil {
			return 0, err
		}
		limit := float64(truth[i][nearestWanted-1].Distance) * (1 + 1e-5)
		for _, hit := range hits {
			if float64(hit.Distance) <= limit {
				found++
			}
		}
	}
	return float64(found) / float64(len(queries)*nearestWanted), nil
}

// memoryOf returns a Memory of the first n rows, which builds a graph above so many rows; -1: never.
func memoryOf(rows []float32, n, d, above int) (*index.Memory, error) {
	m, err := index.NewMemory(d, index.MemoryOptions{Above: above})
	if err != nil {
		return nil, err
	}
	for i := range n {
		if err := m.Add(uint64(i), rows[i*d:(i+1)*d]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// hnswlibSearch returns hnswlib's time per query at no less than the given recall.
func (b *bench) hnswlibSearch(ctx context.Context, g graph, n int, truth [][]index.Hit,
	recall float64,
) (a answer, err error) {
	if err := b.Has("hnswlib"); err != nil {
		return a, err
	}
	folder, err := os.MkdirTemp("", "slkstream-bench-*")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(folder)
	limits := make([]float32, len(truth))
	for i, hits := range truth {
		row := int(hits[nearestWanted-1].ID)
		limits[i] = kernel.SquaredDistance(g.rows[(n+i)*g.d:(n+i+1)*g.d], g.rows[row*g.d:(row+1)*g.d])
	}
	path, check := filepath.Join(folder, "X.npy"), filepath.Join(folder, "limits.npy")
	if err := array.WriteNPYFile(path, g.rows, len(g.rows)/g.d, g.d); err != nil {
		return a, err
	}
	if err := array.WriteNPYFile(check, limits, len(limits)); err != nil {
		return a, err
	}
	return a, b.Python(ctx, 0, &a, "index.py", "search", path, check, fmt.Sprint(nearestWanted),
		fmt.Sprint(recall))
}
