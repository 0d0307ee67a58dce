package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/sample"
)

// digitsFolder returns a folder of the tree's handwritten digits, as X.npy and y.npy.
func digitsFolder(t *testing.T) string { return someDigits(t, sample.Digits().N()) }

// someDigits is digitsFolder for the first n digits.
func someDigits(t *testing.T, n int) string {
	t.Helper()
	set := sample.Digits()
	folder := filepath.Join(t.TempDir(), "digits")
	rows := set.Rows()
	d := len(rows) / set.N()
	if err := errors.Join(os.Mkdir(folder, 0o755), array.WriteNPYFile(folder+"/X.npy", rows[:n*d], n, d),
		array.WriteNPYFile(folder+"/y.npy", set.Labels[:n], n)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// evalLines runs a line with --json and returns its objects.
func evalLines(t *testing.T, line string) []map[string]any {
	t.Helper()
	code, out, messages := runLine(t, strings.Fields(line)...)
	if code != exitDone || messages != "" { // progress is for terminals only
		t.Fatalf("slkstream %s: exit %d: %s", line, code, messages)
	}
	var lines []map[string]any
	for text := range strings.Lines(out) {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatalf("slkstream %s: %q: %v", line, text, err)
		}
		lines = append(lines, object)
	}
	return lines
}

func TestEvalJSON(t *testing.T) {
	data := digitsFolder(t)
	for _, c := range []struct {
		line   string
		lines  int
		fields string
	}{
		{
			"eval fewshot --shots 1,5 --mix balanced,absent --tasks 4 --preset default,paper", 8,
			"data ways shots mix tasks method preset accuracy ci95 episode_us iterations objective_rises lost_supports",
		},
		{
			"eval cluster --k 10 --method slk-ms,ncut", 2,
			"data n k method nmi ari accuracy energy objective graph_seconds solve_seconds objective_rises",
		},
		{
			"eval stream --order bursts --episode-size 50 --shots 1 --unlabelled-classes 0.2", 1,
			"data n episodes warm accuracy first_tenth last_tenth iterations admitted unknown_auroc unknown_found unknown_false " +
				"unknown_best ece objective_rises",
		},
		{
			"eval stream --order bursts --episode-size 50 --shots 1 --newcomers 0.2", 1,
			"unknown_sure before_half after_half",
		},
		{"eval stream --order bursts --shots 0", 1, "nmi pair_f1 clusters id_switches"},
		{"eval index --neighbours 3 --index exact", 1, "data n d index chosen recall build_seconds query_seconds"},
		{"eval identities --streams 2,3 --shift 0.1", 12, "data streams shift method pair_f1 nmi switches wait found classes"},
		{"tune --shots 5 --mix balanced --tasks 1", 54, "lambda rho tau beta accuracy chosen"},
	} {
		lines := evalLines(t, c.line+" --json --data "+data)
		if len(lines) != c.lines {
			t.Errorf("%s: %d lines, want %d", c.line, len(lines), c.lines)
		}
		for _, name := range strings.Fields(c.fields) {
			if _, there := lines[0][name]; !there {
				t.Errorf("%s: no field %s in %v", c.line, name, lines[0])
			}
		}
		if rises, there := lines[0]["objective_rises"].(float64); there && rises != 0 {
			t.Errorf("%s: the objective rose %v times", c.line, rises)
		}
	}
}

func TestEvalTables(t *testing.T) {
	data := digitsFolder(t)
	for line, says := range map[string]string{
		"eval fewshot --shots 1 --mix balanced --tasks 2":       "1-shot balanced  default  slk-means",
		"eval cluster --method kmeans":                          "one cluster",
		"eval stream --order bursts --method slk-means,nearest": "against the first",
		"eval index":                  "recall",
		"eval identities --streams 2": "half-labelled",
	} {
		code, out, messages := runLine(t, strings.Fields(line+" --data "+data)...)
		if code != exitDone || !strings.Contains(out, says) {
			t.Errorf("slkstream %s: exit %d, %s%s", line, code, out, messages)
		}
	}
}

// run and label accept a solver file from tune. If the defaults stay, tune writes none.
func TestTuneWritesASolverFile(t *testing.T) {
	data := someDigits(t, 300)
	for purpose, takers := range map[string][]string{
		"stream": {"run --in a --out b", "eval stream --data " + data}, "tasks": {"run --in a --out b", "eval fewshot --data " + data},
		"file": {"label --input x.jsonl --output y.jsonl", "eval file --data " + data},
	} {
		folder := t.TempDir()
		line := "tune --for " + purpose + " --data " + data + " --shots 5 "
		if purpose == "tasks" {
			line += "--mix balanced --tasks 1"
		} else {
			line += "--trials 1"
		}
		kept := filepath.Join(folder, "kept.yaml")
		code, _, messages := runLine(t, append(strings.Fields(line), "--output", kept)...)
		if _, err := os.Stat(kept); code != exitDone || !os.IsNotExist(err) || !strings.Contains(messages, "the defaults stay") {
			t.Errorf("%s: exit %d, wrote %s (%v): %s", line, code, kept, err, messages)
		}
		moved := filepath.Join(folder, "moved.yaml")
		if err := os.WriteFile(moved, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		again := append(strings.Fields(line), "--power", "0.9", "--output", moved)
		code, _, messages = runLine(t, again...)
		text, err := os.ReadFile(moved)
		if code != exitFailed || string(text) != "mine" || !strings.Contains(messages, "--force") {
			t.Errorf("%s, over a file: exit %d, %q (%v): %s", line, code, text, err, messages)
		}
		code, _, messages = runLine(t, append(again, "--force")...)
		text, err = os.ReadFile(moved)
		if code != exitDone || err != nil || !strings.Contains(string(text), "\npower: 0.9 ") {
			t.Errorf("%s: exit %d: %s%s", line, code, text, messages)
		}
		for _, taker := range takers {
			if code, out, messages := runLine(t, strings.Fields("config "+taker+" --solver "+moved)...); code != exitDone {
				t.Errorf("%s: exit %d: %s%s", taker, code, out, messages)
			}
		}
	}
}

// config solver prints the numbers that are used without a solver file.
func TestConfigSolverIsTheDefault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "solver.yaml")
	for _, purpose := range config.Purposes() {
		_, out, _ := runLine(t, "config", "solver", "--for", purpose)
		if err := os.WriteFile(path, []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
		command := map[string]string{"stream": "run", "tasks": "run", "file": "label"}[purpose]
		c := config.Default(command)
		flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
		config.Flags(flags, command)
		if err := flags.Set("solver", path); err != nil {
			t.Fatal(err)
		}
		with, err := config.Load(command, flags, nil)
		if err != nil && strings.Contains(err.Error(), "solver.yaml") {
			t.Fatal(err)
		}
		want, err := memorySettings(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := memorySettings(with)
		if got.Solver.Index == "auto" {
			got.Solver.Index, want.Solver.Index = "", ""
		}
		want.Solver.RecallFloor, want.Solver.Seed = got.Solver.RecallFloor, got.Solver.Seed
		if err != nil || got != want {
			t.Errorf("%s: %+v, want %+v (%v)", command, got, want, err)
		}
	}
	if code, _, messages := runLine(t, "config", "solver", "--for", "fun"); code != exitUsage ||
		!strings.Contains(messages, "stream, tasks, file") {
		t.Errorf("exit %d: %s", code, messages)
	}
}

func TestEvalRefusesBadInputBeforeItWorks(t *testing.T) {
	data := digitsFolder(t)
	for line, c := range map[string]struct {
		code int
		says string
	}{
		"eval fewshot --data /nowhere":                        {exitFailed, "/nowhere/X.npy"},
		"eval fewshot --data DIGITS,/nowhere":                 {exitFailed, "/nowhere/X.npy"},
		"eval fewshot --data DIGITS --ways 6":                 {exitFailed, "fewer than ways 6"},
		"eval fewshot --data DIGITS --shots 200":              {exitFailed, "shots 200"},
		"eval fewshot --data DIGITS --shots 1.5":              {exitUsage, "whole numbers"},
		"eval fewshot --data DIGITS --mix even":               {exitUsage, `mix "even"`},
		"eval fewshot --data DIGITS --preset fast":            {exitUsage, "preset is fast"},
		"eval fewshot --data DIGITS --preset default,default": {exitUsage, "named twice"},
		"eval fewshot":                                          {exitUsage, "data is not set"},
		"eval cluster --data DIGITS --k 5000":                   {exitFailed, "k 5000"},
		"eval cluster --data DIGITS --method lkk":               {exitUsage, "method is lkk"},
		"eval stream --data DIGITS --order sideways":            {exitFailed, "order"},
		"eval stream --data DIGITS --support-by group:/nowhere": {exitFailed, "support-by"},
		"eval stream --data DIGITS --teach 2":                   {exitUsage, "teach is 2"},
		"eval stream --data DIGITS --shots 0 --method 1nn":      {exitUsage, "method 1nn needs labelled rows"},
		"eval index --data DIGITS --neighbours 1000000":         {exitUsage, "neighbours is 1000000"},
		"eval identities --data DIGITS --streams 1":             {exitUsage, "streams holds 1"},
		"eval identities --data DIGITS --shift 2":               {exitUsage, "shift is 2"},
		"tune --data DIGITS --ways 9":                           {exitFailed, "fewer than ways 9"},
		"eval":                                                  {exitDone, "fewshot"},
		"eval fewshots":                                         {exitUsage, `did you mean "fewshot"`},
	} {
		code, out, messages := runLine(t, strings.Fields(strings.ReplaceAll(line, "DIGITS", data))...)
		if code != c.code || !strings.Contains(out+messages, c.says) {
			t.Errorf("slkstream %s: exit %d, %s%s; want exit %d, %q", line, code, out, messages, c.code, c.says)
		}
	}
}

func TestEvalPaperSaysWhatCannotBeRun(t *testing.T) {
	code, out, messages := runLine(t, "eval", "paper", "--data", t.TempDir())
	if code != exitDone || !strings.Contains(out, "no folder mnist under the root") ||
		!strings.Contains(out, "0.800") || !strings.Contains(out, "not public") {
		t.Errorf("exit %d: %s%s", code, out, messages)
	}
}
