package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// indexSection measures neighbour graphs: small ones on one core compared with the core's peak, and a large
// one compared with other libraries on the same rows and with as many threads.
var indexSection = section{
	name: "index", title: "Neighbour graphs",
	run: func(ctx context.Context, b *bench) error {
		b.Text(
			"Kernel %s. The peak is that of independent multiply-adds in registers, on one core, measured between the rounds.",
			kernel.Name(),
		)
		if err := b.smallGraphs(ctx); err != nil {
			return err
		}
		n := 50_000
		if b.Quick {
			n = 13_000
		}
		return b.largeGraph(ctx, graph{
			name: fmt.Sprintf("clustered, %d x 128", n), rows: clusteredRows(n, 128, 100, 3),
			n: n, d: 128, rho: 5,
		})
	},
}

// imagesSection repeats that comparison on the images of mnist, if --data has them.
var imagesSection = section{
	name: "index-images", title: "Neighbour graphs of images",
	run: func(ctx context.Context, b *bench) error {
		folders, forget, err := b.Sets("mnist")
		if err != nil {
			return err
		}
		defer forget()
		sets, err := evaluate.ReadSets(folders)
		if err != nil {
			return err
		}
		s := b.some(sets[0])
		return b.largeGraph(ctx, graph{
			name: fmt.Sprintf("%s, %d x %d", s.Name, s.N, s.D), rows: s.Rows, n: s.N,
			d: s.D, rho: 10,
		})
	},
}

// clusteredRows draws rows around centres, so many of each.
func clusteredRows(n, d, each int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 0xc1))
	centres := n / each
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

// seconds returns the shortest of many short runs, which is least disturbed by other work.
func seconds(runs int, work func()) float64 {
	best := 1e300
	for range runs {
		from := time.Now()
		work()
		best = min(best, time.Since(from).Seconds())
	}
	return best
}

// peak returns the peak of one core in operations per second.
func peak() float64 {
	var operations float64
	return 1 / seconds(200, func() { operations = kernel.MultiplyAdds(5000) }) * operations
}

// smallGraphs measures exact searches of few rows on one core.
func (b *bench) smallGraphs(ctx context.Context) error {
	const d, rho = 512, 5
	var table [][]string
	for _, n := range []int{100, 1000} {
		rows := clusteredRows(n, d, 100, 1)
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
				panic(err) // cannot fail: the rows drawn here are valid
			}
		}
		const tile = 240 // rows, as in exact search
		products := make([]float32, tile*tile)
		some := clusteredRows(tile, d, 100, 2)
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
			fmt.Sprintf("%.0f %%", 100*float64(n)*float64(n)*d/ours/top),
			fmt.Sprintf("%.0f %%", 100*2*tile*tile*d/tiles/top), fmt.Sprintf("%.0f", top/1e9),
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
	b.Text(
		"%d nearest of every row on one core. Share of the peak: n^2 d operations, half of the matrix; the tiles alone; selection included in ours.",
		rho,
	)
	b.Table([]string{
		"rows", "ours us", "allocations", "of the peak", "tiles alone", "peak GFLOP/s", "numpy us",
		"faiss flat us", "sklearn us",
	}, table)
	return nil
}

func micro(seconds float64) string { return fmt.Sprintf("%.0f", 1e6*seconds) }

// graph is a large set of rows to search.
type graph struct {
	name string
	rows []float32
	n, d int
	rho  int
}

// answer is the cost and the recall of a build.
type answer struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
	Recall  float64 `json:"recall"`
}

// largeGraph runs our methods and the others in turn.
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
	judge, err := newJudge(g, check)
	if err != nil {
		return err
	}
	threads := runtime.GOMAXPROCS(0)
	ours := func() (answer, error) { return judge.build(ctx, "descent") }
	last, err := ours()
	if err != nil {
		return err
	}
	const equal = .001 // of recall: about the resolution of a sample of 500 rows
	const slow = 10    // times ours: a slower method is not tried with slower settings
	contestants := []*contestant{{name: "ours (descent)", run: ours, taken: []answer{last}}}
	for _, c := range []struct{ name, method, packages string }{
		{"pynndescent", "pynndescent", "pynndescent"},
		{"hnswlib", "hnswlib", "hnswlib"},
		{"faiss HNSW", "faiss", "faiss-cpu"},
		{"faiss flat", "flat", "faiss-cpu"},
	} {
		if err := b.Has(c.packages); err != nil {
			b.Missing(c.name, err)
			continue
		}
		r, err := b.Runner(ctx, threads, "index.py", "race", path, check, fmt.Sprint(g.rho), c.method,
			fmt.Sprint(last.Recall-equal), fmt.Sprint(slow*last.Seconds))
		if err != nil {
			return err
		}
		defer func() { _ = r.Stop() }() // its error no longer matters
		// The first run finds the cheapest settings that reach our recall, and measures them.
		var tuned struct {
			answer
			Settings json.RawMessage `json:"settings"`
		}
		if err := r.Next(&tuned); err != nil {
			return err
		}
		slog.Info("tuned", "method", c.name, "settings", string(tuned.Settings), "seconds", tuned.Seconds,
			"recall", tuned.Recall)
		contestants = append(contestants, &contestant{
			name: strings.TrimSuffix(c.name+" "+string(tuned.Settings), " {}"), taken: []answer{tuned.answer},
			run: func() (a answer, err error) { return a, r.Again(&a) },
		})
	}
	const rounds, long = 3, 20 // a run of that many seconds is not repeated
	for range min(rounds, b.Rounds()) - 1 {
		for _, c := range contestants {
			if c.taken[0].Seconds > long {
				continue
			}
			a, err := c.run()
			if err != nil {
				return err
			}
			c.taken = append(c.taken, a)
		}
	}
	var table [][]string
	best, bestCPU := contestants[0].medians()
	for _, c := range contestants {
		seconds, cpu := c.medians()
		table = append(table, []string{
			c.name, fmt.Sprintf("%.2f", seconds), fmt.Sprint(len(c.taken)), fmt.Sprintf("%.1f", cpu),
			fmt.Sprintf("%.4f", c.taken[0].Recall), fmt.Sprintf("%.2f", seconds/best),
			fmt.Sprintf("%.2f", cpu/bestCPU),
		})
	}
	b.Text("%s: %d nearest of every row, %d threads, build and all queries. Others at the cheapest of some "+
		"settings that reach our recall, less %g, on %d rows, or their best; faiss flat is asked for a tenth of the "+
		"rows, and counted ten times. Medians of the runs.", g.name, g.rho, threads, equal,
		len(judge.truth.Rows))
	b.Table([]string{
		"method", "seconds", "runs", "CPU seconds", "recall", "times ours",
		"times ours by CPU",
	}, table)
	return nil
}

// contestant is one method to find the neighbours of a large set.
type contestant struct {
	name  string
	run   func() (answer, error)
	taken []answer // one per run
}

// medians returns the medians of the runs' seconds and CPU seconds.
func (c *contestant) medians() (seconds, cpu float64) {
	var times, used []float64
	for _, a := range c.taken {
		times, used = append(times, a.Seconds), append(used, a.CPU)
	}
	return evaluate.Median(times), evaluate.Median(used)
}

// judge holds the true neighbours for a sample of a graph's rows.
type judge struct {
	graph
	truth *evaluate.Nearest
}

// newJudge finds the neighbours of a sample of rows by exhaustive search, and writes them for the other
// libraries unless path is empty.
func newJudge(g graph, path string) (*judge, error) {
	j := &judge{graph: g, truth: evaluate.SampleNearest(vector.Matrix{Values: g.rows, N: g.n, D: g.d}, g.rho,
		500, 7)}
	if path == "" {
		return j, nil
	}
	if err := array.WriteNPYFile(path+"-rows.npy", j.truth.Rows, len(j.truth.Rows)); err != nil {
		return nil, err
	}
	return j, array.WriteNPYFile(path+"-limits.npy", j.truth.Limits, len(j.truth.Limits))
}

// build measures one of our methods.
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
	a.Recall = j.truth.Recall(func(p int32) []int32 { ids, _ := lists.Row(int(p)); return ids })
	return a, nil
}
