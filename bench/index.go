package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"slkstream/index"
	"slkstream/internal/array"
	"slkstream/internal/evaluate"
	"slkstream/internal/kernel"
)

// indexSection measures neighbour graphs: small ones on one core against the core's peak, large ones against other libraries
// on the same rows with the same threads.
var indexSection = section{name: "index", title: "Neighbour graphs", run: func(ctx context.Context, b *bench) error {
	b.Text("Kernel %s. The peak is that of independent multiply-adds in registers, on one core, measured between the rounds.", kernel.Name())
	if err := b.smallGraphs(ctx); err != nil {
		return err
	}
	for _, g := range b.graphs() {
		if err := b.largeGraph(ctx, g); err != nil {
			return err
		}
	}
	if err := b.millionRows(ctx); err != nil {
		return err
	}
	return b.savedGraph(ctx)
}}

// clusteredRows draws rows around centres, one centre for every hundred rows or a thousand of them.
func clusteredRows(n, d int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 0xc1))
	centres := min(n/100, 1000)
	centre := make([]float32, centres*d)
	for i := range centre {
		centre[i] = float32(random.NormFloat64())
	}
	x := make([]float32, n*d)
	for i := range n {
		c := random.IntN(centres)
		for j := range d {
			x[i*d+j] = centre[c*d+j] + .5*float32(random.NormFloat64())
		}
	}
	return x
}

// seconds is the shortest of many short runs: what the work takes when nothing else gets in between.
func seconds(runs int, work func()) float64 {
	best := 1e300
	for range runs {
		from := time.Now()
		work()
		best = min(best, time.Since(from).Seconds())
	}
	return best
}

// peak is what one core can do, in operations a second.
func peak() float64 {
	var operations float64
	return 1 / seconds(200, func() { operations = kernel.MultiplyAdds(5000) }) * operations
}

// smallGraphs are exact searches of few rows on one core.
func (b *bench) smallGraphs(ctx context.Context) error {
	const d, rho = 512, 5
	var table [][]string
	for _, n := range []int{100, 1000} {
		rows := clusteredRows(n, d, 1)
		folder, err := os.MkdirTemp("", "slkstream-bench-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		path := filepath.Join(folder, "X.npy")
		if err := array.WriteNPYFile(path, rows, n, d); err != nil {
			return err
		}
		var w index.Workspace
		build := func() {
			if _, err := w.Build(ctx, rows, n, d, index.Options{Rho: rho, Method: "exact", Workers: 1}); err != nil {
				panic(err) // rows that are drawn here are good
			}
		}
		const tile = 240 // rows, as exact search takes them
		products := make([]float32, tile*tile)
		some := clusteredRows(tile, d, 2)
		var top float64
		build()
		measured, err := b.Alternate(
			func() (float64, error) { return seconds(200_000/n, build), nil },
			func() (float64, error) {
				return seconds(200, func() { kernel.Products(products, some, some, tile, tile, d) }), nil
			},
			func() (float64, error) { top = peak(); return top, nil })
		if err != nil {
			return err
		}
		ours, tiles, top := measured[0], measured[1], measured[2]
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		build()
		runtime.ReadMemStats(&after)
		var theirs map[string]float64
		if err := b.Has("faiss-cpu", "scikit-learn"); err != nil {
			b.Missing("small searches by numpy, faiss and scikit-learn", err)
		} else if err := b.Python(ctx, 1, &theirs, "index.py", "small", path, fmt.Sprint(rho)); err != nil {
			return err
		}
		row := []string{
			fmt.Sprintf("exact, %d x %d", n, d), micro(ours), fmt.Sprint(after.Mallocs - before.Mallocs),
			fmt.Sprintf("%.0f %%", 100*float64(n)*float64(n)*d/ours/top), fmt.Sprintf("%.0f %%", 100*2*tile*tile*d/tiles/top), fmt.Sprintf("%.0f", top/1e9),
		}
		for _, name := range []string{"numpy", "faiss flat", "sklearn brute"} {
			if v, there := theirs[name]; there {
				row = append(row, micro(v))
			} else {
				row = append(row, "")
			}
		}
		table = append(table, row)
		b.Figure(fmt.Sprintf("index-exact-%d-microseconds", n), "%.0f", 1e6*ours)
	}
	b.Text("%d nearest of every row on one core. Share of the peak: n^2 d operations, half of the matrix; the tiles alone; selection included in ours.", rho)
	b.Table([]string{"rows", "ours us", "allocations", "of the peak", "tiles alone", "peak GFLOP/s", "numpy us", "faiss flat us", "sklearn us"}, table)
	return nil
}

func micro(seconds float64) string { return fmt.Sprintf("%.0f", 1e6*seconds) }

// graph is a large set of rows.
type graph struct {
	name string
	rows []float32
	n, d int
	rho  int
}

func (b *bench) graphs() []graph {
	n := 50_000
	if b.Quick {
		n = 13_000
	}
	all := []graph{{name: fmt.Sprintf("clustered, %d x 128", n), rows: clusteredRows(n, 128, 3), n: n, d: 128, rho: 5}}
	if folders, forget, err := b.Sets("mnist"); err == nil {
		defer forget()
		if filepath.Base(folders[0]) == "mnist" && !b.Quick {
			if sets, err := evaluate.ReadSets(folders); err == nil {
				s := sets[0]
				all = append(all, graph{name: fmt.Sprintf("%s, %d x %d", s.Name, s.N, s.D), rows: s.Rows, n: s.N, d: s.D, rho: 10})
			}
		}
	}
	return all
}

// answer is what a build took and found.
type answer struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	Recall  float64 `json:"recall"`
}

// largeGraph runs ours and the others in turn.
func (b *bench) largeGraph(ctx context.Context, g graph) error {
	folder, err := os.MkdirTemp("", "slkstream-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	path, check := filepath.Join(folder, "X.npy"), filepath.Join(folder, "check")
	if err := array.WriteNPYFile(path, g.rows, g.n, g.d); err != nil {
		return err
	}
	judge, err := newJudge(ctx, g, check)
	if err != nil {
		return err
	}
	threads := runtime.GOMAXPROCS(0)
	var last answer
	ours := func() (float64, error) {
		a, err := judge.build(ctx, "descent")
		last = a
		return a.Seconds, err
	}
	if _, err := ours(); err != nil {
		return err
	}
	target := last.Recall
	type contestant struct {
		name, method, settings, packages string
	}
	others := []contestant{{"pynndescent", "pynndescent", `{}`, "pynndescent"}, {"faiss flat", "faiss", `{}`, "faiss-cpu"}}
	for _, graph := range []struct{ name, method, packages string }{{"hnswlib", "hnswlib", "hnswlib"}, {"faiss HNSW", "faiss", "faiss-cpu"}} {
		if b.Has(graph.packages) != nil {
			continue
		}
		settings, err := b.tuned(ctx, graph.method, path, check, g.rho, threads, target)
		if err != nil {
			return err
		}
		others = append(others, contestant{graph.name, graph.method, settings, graph.packages})
	}
	measurements := []func() (float64, error){ours}
	names, recalls, cpus := []string{"ours (descent)"}, []float64{target}, []float64{last.CPU}
	for _, c := range others {
		if err := b.Has(c.packages); err != nil {
			b.Missing(c.name, err)
			continue
		}
		place := len(names)
		names, recalls, cpus = append(names, strings.TrimSuffix(c.name+" "+c.settings, " {}")), append(recalls, 0), append(cpus, 0)
		measurements = append(measurements, func() (float64, error) {
			var a answer
			err := b.Python(ctx, threads, &a, "index.py", c.method, path, check, fmt.Sprint(g.rho), c.settings)
			recalls[place], cpus[place] = a.Recall, a.CPU
			return a.Seconds, err
		})
	}
	medians, err := b.Alternate(measurements...)
	if err != nil {
		return err
	}
	recalls[0], cpus[0] = last.Recall, last.CPU
	var table [][]string
	for i, name := range names {
		table = append(table, []string{name, fmt.Sprintf("%.2f", medians[i]), fmt.Sprintf("%.1f", cpus[i]), fmt.Sprintf("%.4f", recalls[i]), fmt.Sprintf("%.2f", medians[i]/medians[0])})
	}
	b.Text("%s: %d nearest of every row, %d threads, build and all queries.", g.name, g.rho, threads)
	b.Table([]string{"method", "seconds", "CPU seconds", "recall", "times ours"}, table)
	return nil
}

// tuned looks for the cheapest settings of an HNSW library that reach the recall, on a grid from cheap to dear.
func (b *bench) tuned(ctx context.Context, method, path, check string, rho, threads int, target float64) (string, error) {
	var best string
	cheapest := 1e300
	links := []int{12, 16, 24}
	if b.Quick {
		links = links[1:2]
	}
	for _, m := range links {
		for _, ef := range []int{20, 40, 80, 160, 320} {
			settings := fmt.Sprintf(`{"M":%d,"construction":%d,"ef":%d}`, m, max(40, ef), ef)
			var a answer
			if err := b.Python(ctx, threads, &a, "index.py", method, path, check, fmt.Sprint(rho), settings); err != nil {
				return "", err
			}
			if best == "" || a.Recall >= target && a.CPU < cheapest {
				best = settings
			}
			if a.Recall >= target {
				cheapest = min(cheapest, a.CPU)
				break
			}
			best = settings
		}
	}
	return best, nil
}

// judge holds rows with the true distance of their last neighbour.
type judge struct {
	graph
	sample []int32
	limits []float32 // squared
}

// newJudge solves a sample of rows by a search that looks at every one, and writes it for the others.
func newJudge(ctx context.Context, g graph, path string) (*judge, error) {
	j := &judge{graph: g}
	random := rand.New(rand.NewPCG(7, 7))
	for range min(500, g.n) {
		p := random.IntN(g.n)
		row := g.rows[p*g.d : p*g.d+g.d]
		var nearest []float32
		for q := range g.n {
			if q != p {
				nearest = append(nearest, kernel.SquaredDistance(row, g.rows[q*g.d:q*g.d+g.d]))
			}
		}
		slices.Sort(nearest)
		j.sample, j.limits = append(j.sample, int32(p)), append(j.limits, nearest[g.rho-1])
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if path == "" {
		return j, nil
	}
	if err := array.WriteNPYFile(path+"-rows.npy", j.sample, len(j.sample)); err != nil {
		return nil, err
	}
	return j, array.WriteNPYFile(path+"-limits.npy", j.limits, len(j.limits))
}

// build runs one of our methods.
func (j *judge) build(ctx context.Context, method string) (answer, error) {
	from, cpu := time.Now(), processSeconds()
	lists, err := index.Build(ctx, j.rows, j.n, j.d, index.Options{Rho: j.rho, Method: method, Seed: 1})
	if err != nil {
		return answer{}, err
	}
	a := answer{Seconds: time.Since(from).Seconds(), CPU: processSeconds() - cpu}
	if lists.Report.Chosen != method {
		return a, fmt.Errorf("%s: %s", j.name, lists.Report.Warning)
	}
	a.Recall = j.recall(func(p int32) []int32 { ids, _ := lists.Row(int(p)); return ids })
	return a, nil
}

// recall counts by distance.
func (j *judge) recall(neighbours func(p int32) []int32) float64 {
	found := 0
	for i, p := range j.sample {
		row := j.rows[int(p)*j.d : int(p)*j.d+j.d]
		for _, q := range neighbours(p) {
			if q >= 0 && kernel.SquaredDistance(row, j.rows[int(q)*j.d:int(q)*j.d+j.d]) <= j.limits[i]*(1+1e-5) {
				found++
			}
		}
	}
	return float64(found) / float64(len(j.sample)*j.rho)
}
