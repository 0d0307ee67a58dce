package main

import (
	"context"
	"fmt"
	"math/rand"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/coder/hnsw"

	"github.com/slkstream/slkstream/internal/telemetry"
)

// growthSection measures the neighbours of a million rows, and the recall of an HNSW library.
var growthSection = section{
	name: "index-growth", title: "A million rows, and an HNSW graph",
	run: func(ctx context.Context, b *bench) error {
		if err := b.millionRows(ctx); err != nil {
			return err
		}
		return b.graphByLibrary(ctx)
	},
}

// millionRows shows how time and memory grow from ten thousand rows to a million that are as hard to search:
// with as many rows around a centre.
func (b *bench) millionRows(ctx context.Context) error {
	sizes := []int{10_000, 1_000_000}
	if b.Quick {
		sizes = []int{2_000, 20_000}
	}
	var table [][]string
	for _, each := range []int{1000, 100} {
		var smallest answer
		for _, n := range sizes {
			g := graph{name: fmt.Sprint(n), rows: clusteredRows(n, 64, each, 5), n: n, d: 64, rho: 5}
			j, err := newJudge(g, "")
			if err != nil {
				return err
			}
			a, beside, err := b.growth(ctx, j)
			if err != nil {
				return err
			}
			a.Seconds, a.CPU = 1e6*a.Seconds/float64(n), 1e6*a.CPU/float64(n)
			if n == sizes[0] {
				smallest = a
			}
			table = append(table, []string{
				fmt.Sprint(each), g.name, fmt.Sprintf("%.1f", a.Seconds),
				fmt.Sprintf("%.2f", a.Seconds/smallest.Seconds), fmt.Sprintf("%.1f", a.CPU),
				fmt.Sprintf("%.2f", a.CPU/smallest.CPU), fmt.Sprintf("%.4f", a.Recall),
				fmt.Sprintf("%.2f", beside/float64(4*len(g.rows))),
			})
		}
	}
	b.Text(
		"From thousands of rows to a million, clustered, of 64 dimensions, descent, 5 nearest, %d threads; medians of the runs, a million runs once. More rows around a centre are harder to tell apart, at any size. Memory is the largest heap during the build, less the input, as a multiple of the input.",
		runtime.GOMAXPROCS(0),
	)
	b.Table([]string{
		"rows a centre", "rows", "us a row", "times the smallest", "CPU us a row", "times the smallest", "recall",
		"memory beside the input",
	}, table)
	return nil
}

// growth builds a graph, a small one several times: their first run also makes the heap grow. It returns the
// medians, and the memory of the last.
func (b *bench) growth(ctx context.Context, j *judge) (a answer, beside float64, err error) {
	c := contestant{}
	for range max(1, min(b.Rounds(), 1_000_000/j.n)) {
		runtime.GC()
		stop := peakHeap()
		a, err = j.build(ctx, "descent")
		beside = stop()
		if err != nil {
			return a, 0, err
		}
		c.taken = append(c.taken, a)
	}
	a.Seconds, a.CPU = c.medians()
	return a, beside, nil
}

// peakHeap samples the heap. stop returns the largest growth since the start in bytes.
func peakHeap() (stop func() float64) {
	read := func() float64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return float64(sample[0].Value.Uint64())
	}
	before := read()
	done, highest := make(chan struct{}), make(chan float64)
	go func() {
		top := before
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				top = max(top, read())
			case <-done:
				highest <- max(top, read())
				return
			}
		}
	}()
	return func() float64 {
		close(done)
		return <-highest - before
	}
}

// graphByLibrary shows the recall of an HNSW graph: of the library alone, and as --index hnsw.
func (b *bench) graphByLibrary(ctx context.Context) error {
	n, d := 50_000, 128
	if b.Quick {
		n = 3_000
	}
	name := fmt.Sprintf("clustered, %d x %d", n, d)
	g := graph{name: name, rows: clusteredRows(n, d, 100, 3), n: n, d: d, rho: 5}
	j, err := newJudge(g, "")
	if err != nil {
		return err
	}
	cpu := processSeconds()
	raw := hnsw.NewGraph[int32]()
	raw.Rng = rand.New(rand.NewSource(1))
	raw.Distance = hnsw.EuclideanDistance
	for i := range n {
		raw.Add(hnsw.MakeNode(int32(i), g.rows[i*d:i*d+d]))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	spent := processSeconds() - cpu
	cpu = processSeconds()
	recall := j.truth.Recall(func(p int32) []int32 {
		var ids []int32
		for _, node := range raw.Search(g.rows[int(p)*d:int(p)*d+d], g.rho+1) {
			if node.Key != p {
				ids = append(ids, node.Key)
			}
		}
		return ids[:min(len(ids), g.rho)]
	})
	table := [][]string{memoryRow("the library by itself: insertion, search for 5", spent, processSeconds()-cpu,
		recall)}
	for _, method := range []string{"descent", "hnsw"} {
		a, err := j.build(ctx, method)
		if err != nil {
			return err
		}
		table = append(table, memoryRow("all rows, --index "+method, a.CPU, 0, a.Recall))
	}
	b.Text("coder/hnsw on %s, CPU time; microseconds a query on rows of the set.", g.name)
	b.Table([]string{"", "build, CPU seconds", "us a query", "recall"}, table)
	return nil
}

// memoryRow is a row of the table. queries is the time of 500 queries, if any were made.
func memoryRow(name string, build, queries, recall float64) []string {
	each := ""
	if queries > 0 {
		each = micro(queries / 500)
	}
	return []string{name, fmt.Sprintf("%.1f", build), each, fmt.Sprintf("%.4f", recall)}
}

// processSeconds returns the CPU time that this process has used.
func processSeconds() float64 { return telemetry.Spent().Seconds() }
