package evaluate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/file"
	"github.com/slkstream/slkstream/solver/stream"
)

// fileRivals are methods that a file's answers are compared with: known ones on the graph with which label begins,
// and those of streams, which learn from all labels first.
var fileRivals = slices.Concat(file.Baselines, []string{"ridge", "logistic", labelSpreading})

// FileMethods are the methods of File that label a whole file: default is label's, episodes runs the stage
// over the file as a stream, and class-vectors names the nearest class vector.
var FileMethods = slices.Concat([]string{"default", "episodes", "class-vectors"}, fileRivals)

// File labels a drawn stream as one file.
type File struct {
	Protocol StreamProtocol
	Method   string
	Settings file.Settings
	Episodes stream.Settings // of the method episodes
}

// FileResult is one file, scored.
type FileResult struct {
	Data           string   `json:"data"`
	N              int      `json:"n"`
	Order          string   `json:"order"`
	Shots          int      `json:"shots"`
	Seed           uint64   `json:"seed"`
	Method         string   `json:"method"`
	Classes        int      `json:"classes"`
	Accuracy       float64  `json:"accuracy"`
	Coherence      float64  `json:"coherence"`
	ECE            *float64 `json:"ece,omitempty"`
	Calibrated     bool     `json:"calibrated"`
	UnknownAUROC   *float64 `json:"unknown_auroc,omitempty"`
	UnknownFalse   *float64 `json:"unknown_false,omitempty"`
	UnknownFound   *float64 `json:"unknown_found,omitempty"`
	Code           int      `json:"code"` // bytes kept per row; 0: all
	Seconds        float64  `json:"seconds"`
	ObjectiveRises int      `json:"objective_rises"`
}

// Run draws the file of a seed and labels it.
func (f *File) Run(ctx context.Context, set *Set, seed uint64) (FileResult, error) {
	trial, err := f.Protocol.Draw(set, seed)
	if err != nil {
		return FileResult{}, err
	}
	out := FileResult{
		Data: set.Name, N: len(trial.Items), Order: f.Protocol.Order, Shots: f.Protocol.Shots, Seed: seed,
		Method:  f.Method,
		Classes: len(trial.Classes),
	}
	problem, truth := trial.file()
	var labels []int32
	from := time.Now()
	switch f.Method {
	case "default":
		var r *file.Result
		if r, err = file.Solve(ctx, problem, f.Settings); err == nil {
			labels = r.Labels
			out.Coherence, out.Calibrated, out.Code, out.ObjectiveRises = r.Coherence, r.Calibrated, r.Plan.Code, r.Rises
			trial.scoreDoubts(r, truth, &out)
		}
	case "episodes":
		labels, err = f.episodes(ctx, trial)
	case "ridge", "logistic", labelSpreading:
		labels, err = trial.atOnce(ctx, f.Method)
	case "class-vectors":
		labels, err = trial.nearestVector(problem)
	default:
		labels, err = file.Baseline(ctx, problem, f.Method, f.Settings)
	}
	out.Seconds = time.Since(from).Seconds()
	if err != nil {
		return out, fmt.Errorf("data %s, method %s: %w", set.Name, f.Method, err)
	}
	right, known := 0., 0.
	for i, item := range trial.Items {
		if item.Known && !item.Taught {
			known++
			if labels[i] == truth[i] {
				right++
			}
		}
	}
	out.Accuracy = right / max(1, known)
	return out, nil
}

// file returns the trial as one problem, and the class of each row in it, -1 for a class without support.
func (t *Trial) file() (*file.Problem, []int32) {
	truth, classes := make([]int32, len(t.Items)), t.labelled()
	number := func(y int32) int32 { return int32(slices.Index(classes, y)) }
	for i := range t.Items {
		truth[i] = number(t.Items[i].Truth)
	}
	p := &file.Problem{
		N: len(t.Items), D: t.D, K: len(classes), Support: vector.New(len(t.Supports), t.D),
		Read: func(use func([]float32, int32) error) error {
			for i := range t.Items {
				class := int32(-1)
				if t.Items[i].Taught {
					class = truth[i]
				}
				if err := use(t.Items[i].Vector, class); err != nil {
					return err
				}
			}
			return nil
		},
	}
	if len(t.ClassVectors) > 0 {
		p.ClassVectors = vector.New(p.K, t.D)
		for c, id := range classes {
			copy(p.ClassVectors.Row(c), t.ClassVectors[id])
		}
	}
	for i, row := range t.Supports {
		copy(p.Support.Row(i), row)
		p.SupportClasses = append(p.SupportClasses, number(t.SupportLabels[i]))
	}
	return p, truth
}

// nearestVector answers each item with the class whose vector has the smallest angle to it.
func (t *Trial) nearestVector(p *file.Problem) ([]int32, error) {
	if p.ClassVectors.N == 0 {
		return nil, errors.New("no class vectors: give --class-vectors-from")
	}
	labels := make([]int32, len(t.Items))
	for i := range t.Items {
		best := float32(math.Inf(-1))
		for c := range p.K {
			v := p.ClassVectors.Row(c)
			cos := kernel.Dot(v, t.Items[i].Vector) / float32(math.Sqrt(float64(kernel.Dot(v, v))))
			if cos > best {
				best, labels[i] = cos, int32(c)
			}
		}
	}
	return labels, nil
}

// labelled returns the classes that have support or a vector, ascending.
func (t *Trial) labelled() []int32 {
	classes := slices.AppendSeq(slices.Clone(t.SupportLabels), maps.Keys(t.ClassVectors))
	slices.Sort(classes)
	return slices.Compact(classes)
}

// scoreDoubts scores the confidence and the unknown score.
func (t *Trial) scoreDoubts(r *file.Result, truth []int32, out *FileResult) {
	if r.Confidence == nil {
		return
	}
	var right, unknown []bool
	var confidence, scores []float64
	var called [2]float64
	for i, item := range t.Items {
		if item.Taught {
			continue
		}
		scores, unknown = append(scores, float64(r.UnknownScore[i])), append(unknown, !item.Known)
		side := 1
		if item.Known {
			side = 0
			right, confidence = append(right, r.Labels[i] == truth[i]), append(confidence, float64(r.Confidence[i]))
		}
		if float64(r.UnknownScore[i]) > r.UnknownLimit {
			called[side]++
		}
	}
	out.ECE = pointer(ece(confidence, right))
	if !math.IsInf(r.UnknownLimit, 1) {
		out.UnknownFalse = pointer(called[0] / float64(max(1, len(right))))
	}
	if others := len(unknown) - len(right); others > 0 {
		out.UnknownAUROC = pointer(auroc(scores, unknown))
		out.UnknownFound = pointer(called[1] / float64(others))
	}
}

// episodes answers the file as a stream, episode by episode.
func (f *File) episodes(ctx context.Context, trial *Trial) ([]int32, error) {
	s := Stream{Protocol: f.Protocol, Settings: f.Episodes}
	answers, err := s.remember(ctx, trial, &StreamResult{})
	return trial.numbers(answers), err
}

// atOnce answers the file as one episode of a stream, by one of Rivals.
func (t *Trial) atOnce(ctx context.Context, method string) ([]int32, error) {
	whole := *t
	whole.Episodes = [][]int{slices.Concat(t.Episodes...)}
	answers, err := whole.rival(ctx, method)
	return t.numbers(answers), err
}

// numbers returns the labelled classes of the answers, -1 for another.
func (t *Trial) numbers(answers []stream.Answer) []int32 {
	number, labels := map[string]int32{}, make([]int32, len(answers))
	for c, y := range t.labelled() {
		number[className(y)] = int32(c)
	}
	for i, a := range answers {
		c, ok := number[a.Label]
		if !ok {
			c = -1
		}
		labels[i] = c
	}
	return labels
}
