package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/file"
	"github.com/slkstream/slkstream/solver/stream"
)

// filesSection labels whole files from a few labels, and compares with known methods on the same graph and
// with scikit-learn's on the same exported files.
var filesSection = section{
	name: "files", title: "Whole files with a few labels",
	run: func(ctx context.Context, b *bench) error {
		folders, forget, err := b.Sets("mot17-05-reid", "grocery", "clip-dtd", "clip-caltech101", "clip-flowers",
			"mnist")
		if err != nil {
			return err
		}
		defer forget()
		sets, err := evaluate.ReadSets(folders)
		if err != nil {
			return err
		}
		export, err := os.MkdirTemp("", "slkstream-files-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(export)
		f := files{
			bench: b, episodes: stream.Defaults(), seeds: 3, shots: []int{1, 3, 5}, export: export,
			right: map[string]float64{},
		}
		if b.Quick {
			f.seeds, f.shots = 1, []int{1}
		}
		return f.run(ctx, sets)
	},
}

// mostFileRows bounds the rows of a set that every method labels.
const mostFileRows = 10_000

// sklearnMethods are the methods of files.py.
var sklearnMethods = []string{peerPrefix + "LabelSpreading", peerPrefix + "LabelPropagation"}

type files struct {
	bench    *bench
	episodes stream.Settings
	seeds    int
	shots    []int
	export   string
	right    map[string]float64 // accuracy averaged over seeds, by method, set and shots
}

func (f *files) run(ctx context.Context, sets []*evaluate.Set) error {
	b := f.bench
	methods := []string{"default", "episodes", "poisson", "laplace", "zero-mean-laplace"}
	theirs := b.Has("scikit-learn")
	if theirs == nil {
		methods = append(methods, sklearnMethods...)
	}
	rises := 0
	var whole []*evaluate.Set
	for i, set := range sets {
		if set.N > mostFileRows {
			whole = append(whole, set)
			first := *set
			first.N, first.Rows, first.Labels = mostFileRows, set.Rows[:mostFileRows*set.D], set.Labels[:mostFileRows]
			sets[i] = &first
		}
		for _, shots := range f.shots {
			for _, method := range methods {
				n, err := f.measure(ctx, sets[i], method, shots)
				if err != nil {
					return err
				}
				rises += n
			}
		}
	}
	b.Text("Share of right labels, mean over seeds 1 to %d, at %v labelled rows a class. mot17-05-reid and the "+
		"first %d rows of mnist as filed, the others in bursts of a class. default is `label`'s way, episodes the "+
		"stage over the file as a stream; poisson, laplace and zero-mean-laplace see the embedding and the graph "+
		"that ours begins with; scikit-learn's see the exported files of seed 1, rows less the mean of the "+
		"labelled ones and scaled to length 1, with 10 neighbours and else as they come. The objective "+
		"rose %d times.", f.seeds, f.shots, mostFileRows, rises)
	columns := []string{"method"}
	for _, set := range sets {
		columns = append(columns, set.Name)
	}
	var rows [][]string
	means := map[string]float64{}
	for _, method := range methods {
		row := []string{method}
		for _, set := range sets {
			cell, sum := "", 0.
			for _, shots := range f.shots {
				right := f.right[key(method, set.Name, shots)]
				cell += fmt.Sprintf("%.3f ", right)
				sum += right / float64(len(f.shots))
			}
			row, means[method] = append(row, cell), means[method]+sum/float64(len(sets))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f", means[method])))
	}
	b.Table(append(columns, "mean"), rows)
	if theirs != nil {
		b.Missing("LabelSpreading and LabelPropagation of scikit-learn", theirs)
	}
	f.figures(sets, methods, means)
	return f.large(ctx, whole)
}

// figures writes the figures that have bars: the mean of four sets, the worst cell compared with the stage,
// and the lead.
func (f *files) figures(sets []*evaluate.Set, methods []string, means map[string]float64) {
	b := f.bench
	four, cells, worst := 0., 0., 1.
	for _, set := range sets {
		for _, shots := range f.shots {
			own := f.right[key("default", set.Name, shots)]
			worst = min(worst, own-f.right[key("episodes", set.Name, shots)])
			if set.Name != "clip-flowers" && set.Name != "mnist" {
				four, cells = four+own, cells+1
			}
		}
	}
	best := 0.
	for _, method := range methods[2:] {
		best = max(best, means[method])
	}
	b.Figure("files.four", "%.3f", four/max(1, cells))
	b.Figure("files.worst-beside-episodes", "%+.3f", worst)
	b.Figure("files.mean", "%.3f", means["default"])
	b.Figure("files.lead", "%+.3f", means["default"]-best)
}

func key(method, set string, shots int) string { return fmt.Sprint(method, " ", set, " ", shots) }

// measure computes the mean over the seeds of one method in one cell, and returns how often R rose.
func (f *files) measure(ctx context.Context, set *evaluate.Set, method string, shots int,
) (rises int, err error) {
	run := evaluate.File{
		Protocol: streamOrder(set), Method: method, Episodes: f.episodes,
		Settings: file.Settings{Seed: 1, UnknownRate: .05, Check: method == "default"},
	}
	run.Protocol.Shots, run.Protocol.SupportBy, run.Protocol.Frames = shots, "class", nil
	if set.Name == "mnist" {
		run.Protocol.Order = "rows"
	}
	right, seeds := 0., f.seeds
	if slices.Contains(sklearnMethods, method) {
		seeds = 1 // they take minutes per file
	}
	for seed := range uint64(seeds) {
		var r evaluate.FileResult
		if slices.Contains(sklearnMethods, method) {
			r.Accuracy, err = f.sklearn(ctx, set, &run.Protocol, method, seed+1)
		} else {
			r, err = run.Run(ctx, set, seed+1)
		}
		if err != nil {
			return rises, err
		}
		right, rises = right+r.Accuracy/float64(seeds), rises+r.ObjectiveRises
	}
	f.right[key(method, set.Name, shots)] = right
	slog.Info("measured", "set", set.Name, "rows", set.N, "method", method, "shots", shots, "right", right)
	return rises, nil
}

func (f *files) sklearn(ctx context.Context, set *evaluate.Set, protocol *evaluate.StreamProtocol,
	method string, seed uint64,
) (float64, error) {
	trial, err := protocol.Draw(set, seed)
	if err != nil {
		return 0, err
	}
	if err := evaluate.ExportStream(f.export, trial, seed); err != nil {
		return 0, err
	}
	var right float64
	drawn := filepath.Join(f.export, trial.Name, fmt.Sprint("seed-", seed))
	err = f.bench.Python(ctx, 1, &right, "files.py", drawn, method[len(peerPrefix):])
	return right, err
}

// large measures sets with more than mostFileRows rows as a whole.
func (f *files) large(ctx context.Context, sets []*evaluate.Set) error {
	var rows [][]string
	for _, set := range sets {
		for _, shots := range []int{1, 5} {
			if _, err := f.measure(ctx, set, "default", shots); err != nil {
				return err
			}
			own := f.right[key("default", set.Name, shots)]
			rows = append(rows, []string{set.Name, fmt.Sprint(set.N), fmt.Sprint(shots), fmt.Sprintf("%.3f", own)})
			f.bench.Figure(fmt.Sprintf("files.%s.shots-%d", set.Name, shots), "%.3f", own)
		}
	}
	if len(rows) > 0 {
		f.bench.Table([]string{"whole set", "rows", "labels a class", "default"}, rows)
	}
	return nil
}
