package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/file"
)

var labelCommand = command{
	name:  "label",
	short: "label a file of vectors",
	long: "label gives every row of a file a label: one of those that its support or its own labelled rows name, or with --k a " +
		"cluster from 0 on. The file is one problem, however large. If its rows do not fit into --max-memory, they are quantised, " +
		"and the log has the share of neighbours that this keeps. The order of the rows is used as far as neighbouring " +
		"rows agree. The output appears whole, or not at all. --output - writes JSON Lines to stdout.",
	example: "  slkstream label --input X.npy --support S.npy --support-labels L.npy --output y.npy\n" +
		"  slkstream label --input items.jsonl --k 10 --output clusters.jsonl",
	run: label,
}

func label(ctx context.Context, c *call) error {
	began := time.Now()
	solve, err := chosenSolve(c)
	if err != nil {
		return err
	}
	output := table.Print(c.Out)
	if path := c.Config.Files.Output; path != "-" {
		output, err = table.Create(path, c.Config.Change.Force)
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer output.Discard()
	page, err := createFile(c, "report", c.Config.Files.Report)
	if err != nil {
		return err
	}
	defer page.Discard()
	problem, err := surveyFile(ctx, c)
	if err != nil {
		return err
	}
	r, err := solve(ctx, problem)
	if err != nil {
		return err
	}
	given, err := writeAnswers(c, output, problem, r)
	if err != nil {
		return err
	}
	if page != nil {
		if err := reportPage.Execute(page, newReport(problem, r)); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if err := page.Commit(0o644); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if err := output.Commit(); err != nil {
		return err
	}
	about := []any{"rows", problem.N, "classes", r.K, "rows_in_order", fmt.Sprintf("%.2f", r.Coherence)}
	if r.UnknownScore != nil {
		sure := "not calibrated"
		switch method := c.Config.Solver.Method(); {
		case r.Calibrated:
			sure = fmt.Sprintf("about %.0f %% of the answers right", 100*given.confidence/float64(max(1, given.rows)))
		case c.Config.Files.Calibrate && r.K > 1 && (method == "" || method == "slk-means"):
			sure += ": fewer than 20 labelled rows could be held out, of a class with fewer than 8 at most 4"
		}
		about = append(about, "examples", given.examples+problem.Support.N, "answered", given.rows, "unknown",
			fmt.Sprintf("%d (%.1f %%; %.0f %% of the rows of known classes were allowed)", given.unknown,
				100*float64(given.unknown)/float64(max(1, given.rows)), 100*c.Config.Memory.UnknownRate),
			"how_sure", sure)
	}
	c.Log.Info("labelled", append(about, "output", c.Config.Files.Output, "took", time.Since(began).Round(time.Millisecond))...)
	return nil
}

// answers counts the rows of a file: examples have their label in the file, rows are the others.
type answers struct {
	examples, rows, unknown int
	confidence              float64 // sum over rows
}

const (
	ofProgram = 32 << 20 // memory outside the Go heap: the program's own text and data
	overshot  = 32       // the collector exceeds its limit by up to 1/overshot
)

// chosenSolve returns the function that solves a file by the settings.
func chosenSolve(c *call) (func(context.Context, *labelledFile) (*file.Result, error), error) {
	s := c.Config.Solver
	if method := s.Method(); method != "" && method != "slk-means" {
		return solveByMethod(c)
	}
	return func(ctx context.Context, f *labelledFile) (*file.Result, error) {
		settings := fileSettings(c)
		settings.Memory = int64(c.Config.Stage.MaxMemory)
		if settings.Memory == 0 {
			settings.Memory = availableMemory() / 2
		}
		allowed := debug.SetMemoryLimit(-1)
		defer debug.SetMemoryLimit(allowed)
		// A plan counts what is in use. By default as much garbage may stand beside it; it has no pointers, and is
		// found in no time.
		defer debug.SetGCPercent(debug.SetGCPercent(20))
		settings.Plan = func(p file.Plan) {
			if p.Recall > 0 { // called again: this is what is new, and the rows may be shorter
				kept := "rows as principal directions"
				if p.Code > 0 {
					kept = "rows are kept short"
				}
				c.Log.Info(kept, "numbers", max(p.Code, p.Directions),
					"neighbours_kept", fmt.Sprintf("%.0f %%", 100*p.Recall))
			} else {
				whole := p
				whole.Peak += ofProgram
				c.Log.Info("plan", "how", whole.String(), "limit", file.Size(p.Limit))
			}
			debug.SetMemoryLimit(min(max(p.Peak, p.Limit-ofProgram-p.Limit/overshot), allowed))
		}
		shown := newProgress(c)
		defer shown.end()
		settings.Progress = shown.at
		return file.Solve(ctx, &f.Problem, settings)
	}, nil
}

// fileSettings returns the settings for solving a whole file.
func fileSettings(c *call) file.Settings {
	given := c.Config.Solver
	s := file.Settings{
		Seed: given.Seed, Index: c.Config.Index.Method, RecallFloor: c.Config.Index.RecallFloor,
		UnknownRate: c.Config.Memory.UnknownRate, Uncalibrated: !c.Config.Files.Calibrate,
	}
	if text := c.Config.Files.Ordered; text == "true" || text == "false" {
		ordered := text == "true"
		s.Ordered = &ordered
	}
	giveFile(&s, given)
	return s
}

// giveFile replaces the numbers of a file's solve with those that were given.
func giveFile(s *file.Settings, given config.Solver) {
	if given.Power != nil {
		s.Power = *given.Power
	}
	s.Adjust = func(to *solver.Settings) { giveNumbers(to, given) }
}

// writeAnswers writes an answer for each row, with the file's id for it or else its number. A row that was
// left out has no label, and is listed with the reason in a file beside the output.
func writeAnswers(c *call, output *table.Output, f *labelledFile, r *file.Result) (given answers, err error) {
	list, path := json.NewEncoder(io.Discard), "none beside stdout"
	if f.skip && c.Config.Files.Output != "-" { // also without bad rows: there may be the list of an earlier run
		path = c.Config.Files.Output + ".bad.jsonl"
		part, err := table.CreateBeside(path, true)
		if err != nil {
			return given, fmt.Errorf("skip-bad: %w", err)
		}
		defer part.Discard()
		lines := bufio.NewWriter(part)
		list = json.NewEncoder(lines)
		defer func() {
			if err = errors.Join(err, lines.Flush()); err == nil {
				err = part.Commit(0o644)
			}
		}()
	}
	if len(f.bad) > 0 {
		c.Log.Warn("rows that are bad are left out: their label is empty", "rows", len(f.bad), "list", path)
	}
	type badRow struct {
		Row    int64  `json:"row"`
		ID     string `json:"id,omitempty"`
		Reason string `json:"reason"`
	}
	row, i := int64(0), 0
	if err := output.Begin(f.kept); err != nil {
		return given, err
	}
	how := f.reading
	how.Keep = true
	err = f.each(how, func(of table.Row) error {
		if i == f.N || len(of.Kept) > len(f.kept) {
			return errChanged
		}
		at := f.order.rank(i)
		a := table.Answer{Row: row, Result: record.Result{
			ID: cmp.Or(of.ID, strconv.FormatInt(row, 10)), Label: strconv.Itoa(int(r.Labels[at])),
			Confidence: sixDecimals(float64(r.Confidence[at])),
		}, Kept: append(of.Kept, make([]any, len(f.kept)-len(of.Kept))...)}
		if len(f.names) > 0 {
			a.Label, a.Calibrated = f.names[r.Labels[at]], r.Calibrated
			if r.UnknownScore != nil {
				score := float64(r.UnknownScore[at])
				a.UnknownScore, a.Unknown = sixDecimals(score), score > r.UnknownLimit
			}
		}
		if len(f.names) > 0 && of.Label != "" {
			given.examples++
		} else {
			given.rows++
			given.confidence += a.Confidence
			if a.Unknown {
				given.unknown++
			}
		}
		row, i = row+1, i+1
		return output.Write(&a)
	}, func(bad *table.BadRow) error {
		if len(bad.Kept) > len(f.kept) {
			return errChanged
		}
		row++
		return errors.Join(list.Encode(badRow{bad.Row, bad.ID, bad.Err.Error()}),
			output.Write(&table.Answer{
				Row: row - 1, Result: record.Result{ID: cmp.Or(bad.ID, strconv.FormatInt(row-1, 10))}, Kept: append(bad.Kept, make([]any, len(f.kept)-len(bad.Kept))...),
			}))
	})
	return given, err
}

var errChanged = errors.New("input: it has changed since it was read")

func isNPY(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }

// sixDecimals rounds a score to the precision written to topics and files.
func sixDecimals(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// createFile begins the file of a setting, before long work; nil if path is empty.
func createFile(c *call, setting, path string) (*table.Part, error) {
	if path == "" {
		return nil, nil
	}
	part, err := table.CreateBeside(path, c.Config.Change.Force)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return part, nil
}
