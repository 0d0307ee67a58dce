package main

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"runtime"
	"runtime/metrics"
	"syscall"
	"time"

	"github.com/coder/hnsw"
)

// growthSection is what neighbours of a million rows take, and what an HNSW library is made to find.
var growthSection = section{name: "index-growth", title: "A million rows, and a graph that grows", run: func(ctx context.Context, b *bench) error {
	if err := b.millionRows(ctx); err != nil {
		return err
	}
	return b.savedGraph(ctx)
}}

// millionRows shows how time and memory grow from ten thousand rows to a million.
func (b *bench) millionRows(ctx context.Context) error {
	sizes := []int{10_000, 1_000_000}
	if b.Quick {
		sizes = []int{2_000, 20_000}
	}
	var table [][]string
	var first float64
	for _, n := range sizes {
		g := graph{name: fmt.Sprintf("clustered, %d x 64", n), rows: clusteredRows(n, 64, 5), n: n, d: 64, rho: 5}
		j, err := newJudge(ctx, g, "")
		if err != nil {
			return err
		}
		runtime.GC()
		stop := peakHeap()
		a, err := j.build(ctx, "descent")
		beside := stop()
		if err != nil {
			return err
		}
		each := 1e6 * a.Seconds / float64(n)
		if first == 0 {
			first = each
		}
		table = append(table, []string{
			g.name, fmt.Sprintf("%.2f", a.Seconds), fmt.Sprintf("%.1f", each), fmt.Sprintf("%.2f", each/first), fmt.Sprintf("%.1f", 1e6*a.CPU/float64(n)), fmt.Sprintf("%.4f", a.Recall),
			fmt.Sprintf("%.2f", beside/float64(4*len(g.rows))),
		})
	}
	b.Text("From thousands of rows to a million, descent, 5 nearest, %d threads. Memory is the largest heap during the build, less the input, as a multiple of the input.", runtime.GOMAXPROCS(0))
	b.Table([]string{"rows", "seconds", "us a row", "times the smallest", "CPU us a row", "recall", "memory beside the input"}, table)
	return nil
}

// peakHeap watches the heap and returns, when stopped, how far it rose above what it was, in bytes.
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

// savedGraph shows what the HNSW library finds by itself, and what is made of it.
func (b *bench) savedGraph(ctx context.Context) error {
	n, d := 50_000, 128
	if b.Quick {
		n = 3_000
	}
	g := graph{name: fmt.Sprintf("clustered, %d x %d", n, d), rows: clusteredRows(n, d, 3), n: n, d: d, rho: 5}
	j, err := newJudge(ctx, g, "")
	if err != nil {
		return err
	}
	from, cpu := time.Now(), processSeconds()
	raw := hnsw.NewGraph[int32]()
	raw.Rng = rand.New(rand.NewSource(1))
	raw.Distance = hnsw.EuclideanDistance
	for i := range n {
		raw.Add(hnsw.MakeNode(int32(i), g.rows[i*d:i*d+d]))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	seconds, spent := time.Since(from).Seconds(), processSeconds()-cpu
	recall := j.recall(func(p int32) []int32 {
		var ids []int32
		for _, node := range raw.Search(g.rows[int(p)*d:int(p)*d+d], g.rho+1) {
			if node.Key != p {
				ids = append(ids, node.Key)
			}
		}
		return ids[:min(len(ids), g.rho)]
	})
	a, err := j.build(ctx, "hnsw")
	if err != nil {
		return err
	}
	b.Text("coder/hnsw on %s: by itself (insertion alone, its own distance), and as --index hnsw (insertion, search, ranking, refinement, gate).", g.name)
	b.Table([]string{"", "seconds", "CPU seconds", "recall"}, [][]string{
		{"raw", fmt.Sprintf("%.1f", seconds), fmt.Sprintf("%.1f", spent), fmt.Sprintf("%.4f", recall)},
		{"ours over it", fmt.Sprintf("%.1f", a.Seconds), fmt.Sprintf("%.1f", a.CPU), fmt.Sprintf("%.4f", a.Recall)},
	})
	return nil
}

// processSeconds is the processor time that this process has used.
func processSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return math.NaN()
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
