package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/sample"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// another returns a different value for a setting, as its flag.
func another(s config.Setting, special map[string]string) string {
	if v, has := special[s.Name]; has {
		return v
	}
	for _, choice := range s.Choices() {
		if choice != s.Value() && choice != "auto" {
			return choice
		}
	}
	switch s.Kind() {
	case "whole number", "whole number or auto":
		n, _ := strconv.Atoi(s.Value())
		return strconv.Itoa(n + 1)
	case "number":
		return "0.37"
	case "duration":
		return "7s"
	case "size":
		return "3MiB"
	}
	return "another"
}

var powerPattern = regexp.MustCompile(`(?m)^power: \S+ `)

var clockPattern = regexp.MustCompile(`(time|took|seconds|limit)=("[^"]*"|\S+)`)

// outcome returns the results of a command line: its exit code, its messages without times, and its output.
func outcome(t *testing.T, output string, args []string) string {
	t.Helper()
	code, out, messages := runLine(t, args...)
	content, _ := os.ReadFile(output)
	for _, made := range []string{output, output + ".bad.jsonl"} {
		os.Remove(made)
	}
	return fmt.Sprint(code, out, clockPattern.ReplaceAllString(messages, ""), string(content))
}

// A setting of label that has no effect is refused: another value of it changes the plan or the answers, or
// is an error, whether labels are given or clusters asked for, and with another method.
func TestNoSettingOfLabelIsIdle(t *testing.T) {
	folder := t.TempDir()
	set := sample.Digits()
	d := len(set.Rows()) / set.N()
	const n = 160
	rows, classes := slices.Clone(set.Rows()[:n*d]), set.Labels[:n]
	order := make([]int, n) // sorted by class
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(classes[a] - classes[b]) })
	for i, from := range order {
		copy(rows[i*d:(i+1)*d], set.Rows()[from*d:])
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	vectors := make([]float32, 10*d) // the last row of each class
	for i, c := range set.Labels {
		copy(vectors[int(c)*d:int(c+1)*d], set.Rows()[i*d:])
	}
	for name, err := range map[string]error{
		"x": array.WriteNPYFile(at("X.npy"), rows, n, d),
		"s": array.WriteNPYFile(at("S.npy"), set.Rows()[n*d:(n+60)*d], 60, d),
		"l": array.WriteNPYFile(at("L.npy"), set.Labels[n:n+60], 60),
		"v": array.WriteNPYFile(at("V.npy"), vectors, 10, d),
		"m": array.WriteNPYFile(at("M.npy"), set.Labels[n+60:n+120], 60),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	solver := at("solver.yaml")
	for purpose, file := range map[string]string{"file": solver} {
		_, out, _ := runLine(t, "config", "solver", "--for", purpose)
		if err := os.WriteFile(file, powerPattern.ReplaceAll([]byte(out), []byte("power: 0.37 ")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output := at("y.jsonl")
	labelled := []string{
		"label",
		"--input",
		at("X.npy"),
		"--support",
		at("S.npy"),
		"--support-labels",
		at("L.npy"),
		"--output",
		output,
	}
	clusters := []string{"label", "--input", at("X.npy"), "--k", "9", "--output", output}
	special := map[string]string{
		"solver": solver, "input": at("S.npy"), "support": at("X.npy"), "support-labels": at("M.npy"), "output": at("z.npy"),
		"kernel": "neon", "fields": "vector=clip", "config": at("none.yaml"), "method": "slk-ms",
		"ordered": "false", "report": at("none/r.html"), "max-memory": "1KiB",
		"class-vectors": at("V.npy"),
		"unknown-rate":  "0.4", "log": "error,json",
	}
	// In these runs the settings have no effect: the search of a small file is exact, nothing is drawn, and the
	// file lacks bad rows, an output and enough labels. Other tests cover them.
	elsewhere := []string{"index", "recall-floor", "seed", "skip-bad", "force", "calibrate"}
	for name, base := range map[string][]string{
		"labels": labelled, "clusters": clusters, "labels by slk-ms": append(slices.Clone(labelled), "--method", "slk-ms"),
		"labels by nearest":  append(slices.Clone(labelled), "--method", "nearest"),
		"clusters by kmeans": {"label", "--input", at("X.npy"), "--k", "9", "--method", "kmeans", "--output", output},
	} {
		before := outcome(t, output, base)
		if again := outcome(t, output, base); again != before {
			t.Fatalf("%s: twice the same line: %.300s\nthen %.300s", name, before, again)
		}
		for _, s := range config.Default("label").Settings() {
			if slices.Contains(elsewhere, s.Name) {
				continue
			}
			args := append(slices.Clone(base), "--"+s.Name+"="+another(s, special))
			if after := outcome(t, output, args); after == before {
				t.Errorf("%s: --%s %s does nothing", name, s.Name, another(s, special))
			}
		}
	}
}

// planOf returns the stage's plan for a command line, or the errors.
func planOf(t *testing.T, command string, args []string) string {
	t.Helper()
	flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
	config.Flags(flags, command)
	if err := flags.Parse(args); err != nil {
		return err.Error()
	}
	c, err := config.Load(command, flags, nil)
	if err != nil {
		return err.Error()
	}
	of := &call{Config: c, Log: slog.New(slog.DiscardHandler)}
	brokers := brokerSettings(of)
	options := stageOptions
	if command == "demo" {
		options = demoOptions
	}
	o, err := options(t.Context(), of, new(topic.Client))
	if err != nil {
		return err.Error()
	}
	form := fmt.Sprintf("%+v", o.Form)
	delivery := fmt.Sprintf("%T", o.Delivery)
	if d, ok := o.Delivery.(*producer.AtLeastOnce); ok {
		delivery += string(d.Compression(o.Out))
	}
	o.Delivery, o.Form, o.Decode.Schemas = nil, record.ResultForm{}, nil
	o.Log, brokers.Log = nil, nil
	return fmt.Sprintf("%+v %+v %s %s %v", brokers, o, form, delivery, c.Registry)
}

// A setting of the stage that has no effect is refused: another value of it changes the plan, or is an error.
func TestNoSettingOfTheStageIsIdle(t *testing.T) {
	limit := debug.SetMemoryLimit(-1)
	defer func() {
		if after := debug.SetMemoryLimit(limit); after != limit {
			t.Errorf("reading settings left the process a memory limit of %d bytes", after)
		}
	}()
	folder := t.TempDir()
	save := saver(t, folder)
	_, out, _ := runLine(t, "config", "solver")
	solver := save("solver.yaml", string(powerPattern.ReplaceAll([]byte(out), []byte("power: 0.37 "))))
	support := save("support.jsonl", `{"id":"a","label":"milk","vector":[1,2]}`+"\n")
	secret := save("secret", "hunter2")
	special := map[string]string{
		"solver": solver, "support": support, "stream-by": "partition", "fields": "vector=a", "out-format": "{\"x\":\"${id}\"}",
		"brokers": "kafka:9092", "sasl-password-file": secret, "schema-registry": "http://registry",
		"config": save("c.yaml", "episode-size: 3\n"), "episode-idle": "off",
		"job": "other", "from": "3", "to": "9",
	}
	// These settings concern the process: its page, log and folder. Other tests cover them.
	around := []string{
		"listen", "listen-token-file", "images", "log", "embedded-dir", "recent", "job",
		"from", "to", "from-state", "user-header", "for", "rate", "seed",
	}
	for command, base := range map[string][]string{
		"run":      {"--in=in", "--out=out", "--labels=labels"},
		"backfill": {"--in=in", "--out=out", "--labels=labels", "--job=j"},
		"demo":     {},
	} {
		before := planOf(t, command, base)
		if again := planOf(t, command, base); again != before {
			t.Fatalf("twice the same line: %s\nthen %s", before, again)
		}
		for _, s := range config.Default(command).Settings() {
			if slices.Contains(around, s.Name) {
				continue
			}
			if planOf(t, command, append(slices.Clone(base), "--"+s.Name+"="+another(s, special))) == before {
				t.Errorf("%s: --%s %s does nothing", command, s.Name, another(s, special))
			}
		}
	}
}
