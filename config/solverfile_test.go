package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/config"
)

// wholeSolver returns a complete solver file and its values by name.
func wholeSolver(t *testing.T, purpose string) (string, map[string]string) {
	t.Helper()
	values := map[string]string{}
	for _, s := range config.Default(config.SolverFile).Numbers() {
		values[s.Name] = "1"
	}
	values["for"], values["method"], values["index"] = purpose, "slk-means", "exact"
	values["kernel"] = "portable"
	values["edge-decay"], values["pull"], values["metric-shrink"], values["recall-floor"] = ".5", ".5", ".5", ".5"
	var text bytes.Buffer
	if err := config.WriteSolver(&text, "a test", values); err != nil {
		t.Fatal(err)
	}
	return text.String(), values
}

func solverFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "solver.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "--solver=" + path
}

// Every number of a solver file takes effect; a missing or unknown number or one out of bounds is refused.
func TestSolverFile(t *testing.T) {
	whole, values := wholeSolver(t, "stream")
	c, err := load(t, "run", "", nil, "--in=a", "--out=b", solverFile(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(whole, "\n")
	for _, s := range c.Numbers() {
		if trimmed := strings.TrimLeft(s.Value(), "0"); trimmed != strings.TrimLeft(values[s.Name], "0") {
			t.Errorf("%s reads as %s, want %s", s.Name, s.Value(), values[s.Name])
		}
		var without, odd string
		for _, line := range lines {
			if !strings.HasPrefix(line, s.Name+": ") {
				without, odd = without+line, odd+line
				continue
			}
			odd += s.Name + ": nonsense\n"
		}
		for text, want := range map[string]string{
			without:                s.Name + " missing: a solver file has every number",
			odd:                    s.Name,
			whole + s.Name + ": 1": "a second time",
		} {
			if _, err := load(t, "run", "", nil, "--in=a", "--out=b", solverFile(t, text)); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", s.Name, err, want)
			}
		}
	}
	for text, want := range map[string]string{
		whole + "lambada: 1\n":   `unknown key "lambada"; did you mean "lambda"?`,
		whole + "brokers: h:1\n": `unknown key "brokers"`,
		"":                       "missing",
	} {
		if _, err := load(t, "run", "", nil, "--in=a", "--out=b", solverFile(t, text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Numbers measured for a file are refused for a stream, and the reverse.
func TestSolverFilePurpose(t *testing.T) {
	for purpose, commands := range map[string]map[string]bool{
		"stream": {"run": true, "audit": true, "label": false, "eval file": false, "eval stream": true},
		"tasks":  {"run": true, "label": false, "eval fewshot": true},
		"file":   {"run": false, "demo": false, "label": true, "eval file": true},
	} {
		for command, fits := range commands {
			text, _ := wholeSolver(t, purpose)
			_, err := load(t, command, "", nil, solverFile(t, text))
			if told := err != nil && strings.Contains(err.Error(), "its numbers are for "+purpose); told == fits {
				t.Errorf("%s with numbers for %s: %v", command, purpose, err)
			}
		}
	}
}

// A number of the solver that a command takes in a solver file only is refused in each layer, and the error says
// where it goes.
func TestNumbersBelongInTheSolverFile(t *testing.T) {
	for _, command := range []string{"run", "backfill", "demo", "check", "audit"} {
		for _, s := range config.Default(config.SolverFile).Numbers() {
			if s.Name == "for" || s.Name == "seed" && command == "demo" {
				continue
			}
			want := s.Name + " is a number of the solver: give it in a file, --solver FILE"
			if got := config.Misplaced(command, s.Name); !strings.Contains(got, want) {
				t.Errorf("--%s: %q", s.Name, got)
			}
			for _, err := range []error{
				second(load(t, command, "", []string{s.Variable() + "=1"})),
				second(load(t, command, s.Name+": 1\n", nil)),
			} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s of %s: %v", s.Name, command, err)
				}
			}
		}
	}
}

// The fields of JSON are one mapping; each also has a name of its own, which sets one of them.
func TestFields(t *testing.T) {
	want := []string{"vector=a[].b", "id=c"}
	for name, row := range map[string]struct {
		file    string
		environ []string
		args    []string
	}{
		"list": {args: []string{"--fields", "vector=a[].b,id=c"}}, "repeated": {args: []string{"--fields=vector=a[].b", "--fields=id=c"}},
		"names": {args: []string{"--vector-field", "a[].b", "--id-field", "c"}}, "mapping": {file: "fields:\n  vector: a[].b\n  id: c\n"},
		"list in a file": {file: "fields: ['vector=a[].b', id=c]\n"}, "names in a file": {file: "vector-field: a[].b\nid-field: c\n"},
		"variables": {environ: []string{"SLKSTREAM_VECTOR_FIELD=a[].b", "SLKSTREAM_ID_FIELD=c"}},
		"layers":    {file: "fields: {vector: 'a[].b'}\n", args: []string{"--id-field=c"}},
	} {
		c, err := load(t, "run", row.file, row.environ, append(row.args, "--in=a", "--out=b")...)
		if err != nil || !slices.Equal(c.Stage.Fields, want) || c.Stage.Field("id") != "c" || c.Stage.Field("time") != "" {
			t.Errorf("%s: %v %v", name, c.Stage.Fields, err)
		}
	}
	for text, problem := range map[string]string{
		"vector=-": "says that there is no vector", "vector=a,vector=b": "once", "colour=a,vector=b": "one of vector, id", "vector=": "NAME=VALUE",
	} {
		if _, err := load(t, "run", "", nil, "--in=a", "--out=b", "--fields="+text); err == nil ||
			!strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The settings of run stay few enough to remember.
func TestSettingsOfRun(t *testing.T) {
	if n := len(config.Default("run").Settings()); n > 65 {
		t.Errorf("run has %d settings", n)
	}
}

func second(_ *config.Config, err error) error { return err }
