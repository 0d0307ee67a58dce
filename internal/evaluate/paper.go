package evaluate

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/communities"
)

// PaperSet is a data set of the paper: its folder, and why it may be missing.
type PaperSet struct {
	Name   string // the paper's name
	Folder string // under the root; "": the features were never published
	K      int
	Reason string // why it cannot be run without the folder
}

// PaperSets are the columns of the paper's clustering table.
var PaperSets = []PaperSet{
	{"MNIST", "mnist", 10, "no folder mnist under the root"},
	{"MNIST (GAN)", "", 10, "the features of the authors' GAN are not public"},
	{"LabelMe (Alexnet)", "", 8, "the authors' AlexNet features are not public"},
	{"LabelMe (GIST)", "", 8, "the authors' GIST features are not public"},
	{"YTF", "", 40, "the frames and pixels that the authors chose are not public"},
	{"Shuttle", "shuttle", 7, "no folder shuttle under the root"},
	{"Reuters", "", 4, "the authors' auto-encoder features are not public"},
}

// paperMethods are the rows of the table that we can run, by Cluster's names.
var paperMethods = []string{"kmeans", "kmodes", "ncut", "kernel-kmeans", "lk", "slk-ms", "slk-means"}

// paperFigures is the paper's table: NMI and accuracy. Figures that the paper omits are missing.
var paperFigures = map[string]map[string][2]float64{
	"MNIST": {
		"kmeans": {.53, .55}, "kmodes": {.56, .60}, "ncut": {.74, .61}, "kernel-kmeans": {.53, .55},
		"slk-ms": {.80, .79}, "slk-means": {.78, .75},
	},
	"MNIST (GAN)": {
		"kmeans": {.68, .75}, "kmodes": {.69, .80}, "ncut": {.77, .67}, "kernel-kmeans": {.69, .68},
		"slk-ms":    {.86, .94},
		"slk-means": {.84, .91},
	},
	"LabelMe (Alexnet)": {
		"kmeans": {.81, .90}, "kmodes": {.81, .91}, "ncut": {.81, .91}, "kernel-kmeans": {.81, .90},
		"lk": {.81, .91}, "slk-ms": {.83, .91},
		"slk-means": {.83, .91},
	},
	"LabelMe (GIST)": {
		"kmeans": {.57, .69}, "kmodes": {.58, .68}, "ncut": {.58, .61}, "kernel-kmeans": {.57, .63},
		"lk": {.59, .61}, "slk-ms": {.61, .72},
		"slk-means": {.60, .68},
	},
	"YTF": {
		"kmeans": {.77, .58}, "kmodes": {.79, .62}, "ncut": {.74, .54}, "kernel-kmeans": {.71, .50},
		"lk": {.77, .59}, "slk-ms": {.82, .65},
		"slk-means": {.82, .64},
	},
	"Shuttle": {
		"kmeans": {.22, .41}, "kmodes": {.33, .47}, "ncut": {.47, .46}, "kernel-kmeans": {.26, .40},
		"slk-ms": {.45, .70}, "slk-means": {.31, .71},
	},
	"Reuters": {"kmeans": {.48, .73}, "kmodes": {.48, .72}, "slk-ms": {.43, .74}, "slk-means": {.56, .77}},
}

// PaperRow is one cell of the paper's clustering table beside our result.
type PaperRow struct {
	Table         string   `json:"table"` // clustering
	Data          string   `json:"data"`
	Method        string   `json:"method"`
	NMI           *float64 `json:"nmi,omitempty"` // ours, the median of the trials; nil if it cannot be run
	Accuracy      *float64 `json:"accuracy,omitempty"`
	ARI           *float64 `json:"ari,omitempty"`
	OneCluster    *float64 `json:"one_cluster,omitempty"` // accuracy of one cluster for all rows
	Trials        int      `json:"trials,omitempty"`
	PaperNMI      *float64 `json:"paper_nmi,omitempty"`
	PaperAccuracy *float64 `json:"paper_accuracy,omitempty"`
	Rises         int      `json:"objective_rises"`
	Reason        string   `json:"reason,omitempty"` // why it cannot be run
}

// EnergyRow compares the discrete objective E at one lambda. Each E is that of the final labels, with modes
// fitted to them.
type EnergyRow struct {
	Table       string  `json:"table"` // energy
	Data        string  `json:"data"`
	Lambda      float64 `json:"lambda"`
	LK          float64 `json:"lk"`               // from a k-means++ start, the paper's
	LKGraph     float64 `json:"lk_graph_start"`   // from the start of ours
	SLKPlusPlus float64 `json:"slk_ms_plus_plus"` // from the same k-means++ start
	SLK         float64 `json:"slk_ms"`           // from the graph, the best of energyStarts
	OneCluster  float64 `json:"one_cluster"`      // of one cluster for all rows
	PaperLK     float64 `json:"lk_paper_convention"`
	PaperSLK    float64 `json:"slk_ms_paper_convention"` // with the graph weighed twice, as in the paper
	Rises       int     `json:"objective_rises"`
}

// Paper runs those of the paper's clustering experiments that can be run.
type Paper struct {
	Root     string
	Seed     uint64
	Trials   int     // trials of ours; baselines run once
	Index    string  // how neighbours are searched
	Kappa    float64 // of the energies; 0: energyKappa
	Note     func(text string)
	Settings func(method string) (solver.Settings, error)
}

// mostLK bounds the rows that LK is run on. It needs N x K variables at once and hundreds of projections per
// step; the paper omits its large sets too.
const mostLK = 5000

// Clustering fills one column of the clustering table.
func (p *Paper) Clustering(ctx context.Context, column PaperSet) ([]PaperRow, []float64, error) {
	var rows []PaperRow
	for _, method := range paperMethods {
		row := PaperRow{Table: "clustering", Data: column.Name, Method: method, Reason: column.Reason}
		if figures, there := paperFigures[column.Name][method]; there {
			row.PaperNMI, row.PaperAccuracy = &figures[0], &figures[1]
		}
		rows = append(rows, row)
	}
	set, err := p.set(column)
	if set == nil || err != nil {
		return rows, nil, err
	}
	cluster := Cluster{K: column.K, Index: p.Index, Settings: p.Settings}
	settings, err := cluster.settings("slk-means")
	if err != nil {
		return nil, nil, err
	}
	p.Note(column.Name + ": graph")
	space, err := newSpace(ctx, set, settings.Rho, p.Index, nil)
	if err != nil {
		return nil, nil, err
	}
	var trace []float64
	for i := range rows {
		row := &rows[i]
		row.Reason = ""
		if row.Method == "lk" && set.N > mostLK {
			row.Reason = fmt.Sprintf("LK solves for all N x K variables at once: not run above %d rows, nor by the paper", mostLK)
			continue
		}
		row.Trials = 1
		if row.Method == "slk-ms" || row.Method == "slk-means" {
			row.Trials = p.Trials
		}
		var nmi, ari, accuracy []float64
		for trial := range row.Trials {
			p.Note(fmt.Sprintf("%s: %s, trial %d of %d", column.Name, row.Method, trial+1, row.Trials))
			cluster.Seed = p.Seed + uint64(trial)
			r, err := cluster.solve(ctx, space, row.Method)
			if err != nil {
				return nil, nil, fmt.Errorf("%s, %s: %w", column.Name, row.Method, err)
			}
			nmi, ari, accuracy = append(nmi, r.NMI), append(ari, r.ARI), append(accuracy, r.Accuracy)
			row.Rises += r.ObjectiveRises
			row.OneCluster = &r.OneCluster
			if row.Method == "slk-ms" && trial == 0 {
				trace = r.Trace
			}
		}
		row.NMI, row.ARI, row.Accuracy = middle(nmi), middle(ari), middle(accuracy)
	}
	return rows, trace, nil
}

// set reads a column's data; nil if it is missing.
func (p *Paper) set(column PaperSet) (*Set, error) {
	if column.Folder == "" {
		return nil, nil
	}
	folder := filepath.Join(p.Root, column.Folder)
	if _, err := os.Stat(filepath.Join(folder, "X.npy")); os.IsNotExist(err) {
		return nil, nil
	}
	return ReadSet(folder)
}

func middle(values []float64) *float64 {
	slices.Sort(values)
	v := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return &v
}

// energyKappa is the height of a mode's kernel where energies are compared. The paper does not say how it
// weighs the two terms. At height 1, one cluster for all rows has the least E for most of the lambdas below;
// at 10, for none.
const energyKappa = 10

// energyStarts is the number of SLK's starts from the graph.
const energyStarts = 8

// paperLambdas are five values of the range that the paper tunes over.
var paperLambdas = []float64{1, 1.5, 2, 3, 4}

// Energies compares SLK-MS with LK on MNIST (small): 200 random rows of each class. It returns nil if the
// root has no folder mnist.
func (p *Paper) Energies(ctx context.Context) ([]EnergyRow, error) {
	set, err := p.set(PaperSets[0])
	if set == nil || err != nil {
		return nil, err
	}
	small, err := set.sample(200, p.Seed)
	if err != nil {
		return nil, err
	}
	small.Name = "MNIST (small)"
	return p.energiesOf(ctx, small, PaperSets[0].K)
}

// energiesOf compares the energies of SLK-MS and LK on any set.
func (p *Paper) energiesOf(ctx context.Context, set *Set, k int) ([]EnergyRow, error) {
	cluster := Cluster{K: k, Seed: p.Seed, Settings: p.Settings}
	settings, err := cluster.settings("slk-ms")
	if err != nil {
		return nil, err
	}
	if settings.Seed, settings.Kappa = p.Seed, p.Kappa; p.Kappa == 0 {
		settings.Kappa = energyKappa
	}
	// Both methods run until they converge, because converged energies are compared. Of a few starts from the
	// graph the one of least energy counts: together they take a fraction of LK's time from one start.
	settings.Tolerance, settings.Outer = .001, 50
	space, err := newSpace(ctx, set, settings.Rho, p.Index, nil)
	if err != nil {
		return nil, err
	}
	fromGraph, _ := communities.Find(space.graph, k, solver.PointsOf(space.rows, set.D).Each(), p.Seed)
	spread := newModel(space.rows, set.N, set.D, k, space.graph, settings).nearestSpread(randomFor(p.Seed,
		set.Name, "k-means++"))
	var rows []EnergyRow
	for _, lambda := range paperLambdas {
		p.Note(fmt.Sprintf("%s: lambda %g", set.Name, lambda))
		settings.Lambda = lambda
		m := newModel(space.rows, set.N, set.D, k, space.graph, settings)
		row := EnergyRow{Table: "energy", Data: set.Name, Lambda: lambda}
		row.OneCluster, _, _ = m.discrete(make([]int32, set.N))
		var run ClusterResult
		for _, solve := range []struct {
			energy, paper *float64
			labels        func() ([]int32, error)
		}{
			{&row.LK, &row.PaperLK, func() ([]int32, error) { return laplacianKModes(ctx, m, spread) }},
			{&row.LKGraph, nil, func() ([]int32, error) { return laplacianKModes(ctx, m, fromGraph) }},
			{&row.SLKPlusPlus, nil, func() ([]int32, error) {
				labels, _, err := cluster.slk(ctx, space, settings, spread, &run)
				row.Rises += run.ObjectiveRises
				return labels, err
			}},
			{&row.SLK, &row.PaperSLK, func() ([]int32, error) {
				var best []int32
				least, from := math.Inf(1), settings
				for range energyStarts {
					labels, _, err := cluster.slk(ctx, space, from, nil, &run)
					if err != nil {
						return nil, err
					}
					row.Rises += run.ObjectiveRises
					if energy, _, _ := m.discrete(labels); energy < least {
						best, least = labels, energy
					}
					from.Seed++
				}
				return best, nil
			}},
		} {
			labels, err := solve.labels()
			if err != nil {
				return nil, fmt.Errorf("%s, lambda %g: %w", set.Name, lambda, err)
			}
			energy, _, graphPart := m.discrete(labels)
			*solve.energy = energy
			if solve.paper != nil {
				*solve.paper = energy + graphPart
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// sample keeps the given number of random rows of each class.
func (s *Set) sample(each int, seed uint64) (*Set, error) {
	ids, rows := s.classes()
	out := &Set{Name: s.Name, D: s.D}
	random := randomFor(seed, s.Name, "sample")
	for _, id := range ids {
		if len(rows[id]) < each {
			return nil, fmt.Errorf("data %s: class %d has %d rows, fewer than %d", s.Name, id, len(rows[id]), each)
		}
		for _, row := range choose(random, rows[id], each) {
			out.Rows, out.Labels = append(out.Rows, s.row(row)...), append(out.Labels, id)
			out.N++
		}
	}
	return out, nil
}
