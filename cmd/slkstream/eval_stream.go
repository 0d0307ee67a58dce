package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/evaluate"
)

func newEvalStreamCommand() *cobra.Command {
	return withSettings("eval stream", &cobra.Command{
		Use:   "stream --data DIR",
		Short: "accuracy over a stream, as the stage learns from it",
		Long: "Turn labelled data into a stream, answer it episode by episode as the stage does, and score every item\n" +
			"that carries no label; first answers are those that items get before their episode closes. --shots 0 finds\n" +
			"clusters with stable ids instead. --warm=false answers each episode from the labels alone. 1nn,\n" +
			"running-mean, ridge, logistic, and the updates of TransCLIP, StatA, PADDLE and alpha-TIM as --method are\n" +
			"rivals with the same labels.",
		Example: "  slkstream eval stream --data ./features --order bursts --shots 1,5 --trials 5\n" +
			"  slkstream eval stream --data ./features --teach 0.03 --method slk-means,1nn,ridge",
	}, evalStream)
}

// streamLine is one result in JSON.
type streamLine struct {
	evaluate.StreamResult
	Preset string `json:"preset,omitempty"`
}

func evalStream(ctx context.Context, c *call) error {
	runs, err := streamRuns(c)
	if err != nil {
		return err
	}
	e := c.Config.Evaluate
	sets, err := evaluate.ReadSets(e.Data)
	if err != nil {
		return err
	}
	shots, err := wholeNumbers(e.Shots)
	if err != nil {
		return err
	}
	protocol, err := streamProtocol(c)
	if err != nil {
		return err
	}
	seed := c.Config.Solver.Seed
	// draw every stream once before the work starts, so that a fault in the last is known at once
	for _, set := range sets {
		for _, n := range shots {
			protocol.Shots = n
			for trial := range uint64(e.Trials) {
				drawn, err := protocol.Draw(set, seed+trial)
				if err != nil {
					return err
				}
				if e.Export != "" {
					if err := evaluate.ExportStream(e.Export, drawn, seed+trial); err != nil {
						return err
					}
				}
			}
		}
	}
	p := newPrinter(c, "data\tshots\tseed\tpreset\tmethod\twarm\titems\taccuracy\tfirst answers\tfirst 10th\tlast 10th\tadmitted\ttaught\tunknown AUROC\tfound\tfalse\tat 5 % false\tECE\tcalibrated\tNMI\tpair F1\tclusters\tid switches\tsweeps\trises\t")
	progress := progressOf(c, "streams")
	done, total := 0, len(sets)*len(shots)*len(runs)*e.Trials
	summary := streamSummary{}
	for _, set := range sets {
		for _, n := range shots {
			for _, run := range runs {
				stream := run.Stream
				stream.Protocol = protocol
				stream.Protocol.Shots = n
				stream.Settings.Discover, stream.First = n == 0, true
				for trial := range uint64(e.Trials) {
					r, err := stream.Run(ctx, set, seed+trial)
					if err != nil {
						return err
					}
					done++
					progress(done, total)
					switches := ""
					if r.IDSwitches != nil {
						switches = fmt.Sprint(*r.IDSwitches)
					}
					if err := p.print(streamLine{r, run.preset}, "%s\t%d\t%d\t%s\t%s\t%t\t%d\t%s\t%s\t%s\t%s\t%.3f\t%d\t%s\t%s\t%s\t%s\t%s\t%.2f\t%s\t%s\t%d\t%s\t%.1f\t%d\t", r.Data, r.Shots, r.Seed, run.preset, r.Method, r.Warm, r.N,
						cell(r.Accuracy), cell(r.NowAccuracy), cell(r.FirstTenth), cell(r.LastTenth), r.Admitted, r.Taught, cell(r.UnknownAUROC), cell(r.UnknownFound), cell(r.UnknownFalse), cell(r.UnknownBest),
						cell(r.ECE), r.Calibrated, cell(r.NMI), cell(r.PairF1),
						r.Clusters, switches, r.Iterations, r.ObjectiveRises); err != nil {
						return err
					}
					summary.add(set.Name, n, run.preset, r)
				}
			}
		}
	}
	if err := p.close(); err != nil || p.json || e.Trials == 1 && len(runs) == 1 {
		return err
	}
	return summary.print(c)
}

// cell formats a fraction that may be missing.
func cell(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", *v)
}

// streamProtocol builds the protocol for drawing streams, without the shots.
func streamProtocol(c *call) (evaluate.StreamProtocol, error) {
	e := c.Config.Evaluate
	p := evaluate.StreamProtocol{
		Order: e.Order, Episode: c.Config.Stage.EpisodeSize, SupportBy: e.SupportBy, MinRows: e.MinRows,
		Drift: e.Drift, Teach: e.Teach, TeachBy: e.TeachBy,
		UnlabelledClasses: e.UnlabelledClasses, Newcomers: e.Newcomers, Absent: e.Absent, Garbage: e.Garbage,
		WrongSupports: e.WrongSupports, Nobody: e.Nobody,
	}
	if alpha, ok := strings.CutPrefix(e.Order, "dirichlet:"); ok {
		p.Order = "dirichlet"
		p.Alpha, _ = strconv.ParseFloat(alpha, 64) // Validate refuses 0
	} else if !slices.Contains([]string{"rows", "bursts", "class", "shuffled"}, e.Order) {
		order, err := array.ReadIntegers(e.Order)
		if err != nil {
			return p, fmt.Errorf("order: not rows, bursts, class or shuffled, and as a file: %w", err)
		}
		p.Order, p.Given = "given", order.Integers
	}
	if file, ok := strings.CutPrefix(e.SupportBy, "group:"); ok {
		groups, err := array.ReadIntegers(file)
		if err != nil {
			return p, fmt.Errorf("support-by: %w", err)
		}
		p.SupportBy, p.Groups = "group", groups.Integers
	}
	for _, f := range []struct {
		name, file string
		to         *[]int32
	}{{"frame", e.Frame, &p.Frames}, {"track", e.Track, &p.Tracks}} {
		if f.file == "" {
			continue
		}
		numbers, err := array.ReadIntegers(f.file)
		if err != nil {
			return p, fmt.Errorf("%s: %w", f.name, err)
		}
		*f.to = numbers.Integers
	}
	if err := p.Validate(); err != nil {
		return p, usageError{err}
	}
	return p, nil
}

// streamRun is one method that answers a stream.
type streamRun struct {
	evaluate.Stream
	preset string
}

// streamRuns returns the stage with every preset and method named, and the rivals named.
func streamRuns(c *call) ([]streamRun, error) {
	of := *c.Config
	of.Solver.Methods = nil
	var rivals []string
	for _, method := range c.Config.Solver.Methods {
		if slices.Contains(evaluate.Rivals, method) {
			rivals = append(rivals, method)
		} else {
			of.Solver.Methods = append(of.Solver.Methods, method)
		}
	}
	settings, err := memorySettings(c.Config)
	if err != nil {
		return nil, usageError{err}
	}
	var runs []streamRun
	if len(of.Solver.Methods) > 0 || len(rivals) == 0 {
		ours, err := candidates(&of)
		if err != nil {
			return nil, err
		}
		for _, candidate := range ours {
			s := settings
			s.Solver = candidate.Settings
			s.Solver.Check = true
			if err := s.Validate(); err != nil {
				return nil, usageError{err}
			}
			runs = append(runs, streamRun{evaluate.Stream{Settings: s, Method: candidate.Method}, candidate.Preset})
		}
	}
	for _, rival := range rivals {
		runs = append(runs, streamRun{evaluate.Stream{Settings: settings, Method: rival}, ""})
	}
	return runs, nil
}

// streamSummary collects the accuracy of each run over its trials, in the order of arrival.
type streamSummary struct {
	cells []streamCell
}

type streamCell struct {
	data, preset, method string
	shots                int
	values               []float64
}

func (s *streamSummary) add(data string, shots int, preset string, r evaluate.StreamResult) {
	value := r.Accuracy
	if value == nil {
		value = r.NMI
	}
	if value == nil {
		return
	}
	if last := len(s.cells) - 1; last < 0 || s.cells[last].data != data || s.cells[last].shots != shots ||
		s.cells[last].preset != preset || s.cells[last].method != r.Method {
		s.cells = append(s.cells, streamCell{data: data, preset: preset, method: r.Method, shots: shots})
	}
	last := &s.cells[len(s.cells)-1]
	last.values = append(last.values, *value)
}

// print shows means over the trials, and the trial-by-trial difference from the first run of the same
// data and shots.
func (s *streamSummary) print(c *call) error {
	fmt.Fprintln(c.Out)
	p := newPrinter(c, "mean over trials\tshots\tpreset\tmethod\taccuracy (NMI without shots)\t± 95 %\tagainst the first\t± 95 %\t")
	var first streamCell
	for _, cell := range s.cells {
		versus := "\t"
		if cell.data != first.data || cell.shots != first.shots {
			first = cell
		} else if len(cell.values) == len(first.values) {
			d := evaluate.Paired(cell.values, first.values)
			versus = fmt.Sprintf("%+.3f\t%.3f", d.Mean, d.CI95)
		}
		mean := evaluate.Average(cell.values)
		if err := p.print(nil, "%s\t%d\t%s\t%s\t%.3f\t%.3f\t%s\t", cell.data, cell.shots, cell.preset, cell.method,
			mean.Mean, mean.CI95, versus); err != nil {
			return err
		}
	}
	return p.close()
}
