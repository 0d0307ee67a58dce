package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/kernel"
)

// section measures one thing and writes the results to the given bench.
type section struct {
	name  string // as in --only
	title string
	run   func(context.Context, *bench) error
	alone bool // measures no Python peer
}

// bench holds a section's options and collects its output.
type bench struct {
	Quick   bool   // small data, one round
	Data    string // folder of the sets; "": the tree's sample data
	Profile string // folder for CPU profiles of the stage, which is then not measured; "": none
	Rows    string // file to which section battery writes its rows as JSON lines; "": none
	Against string // file of such rows of another build, which section battery compares with; "": none

	folder  string // folder of this program's source
	peers   *peers
	text    strings.Builder
	figures []figure
}

// figure is a number that other documents quote. bench/RESULTS.md lists it, and a test compares
// README.md with it.
type figure struct{ name, value string }

func (b *bench) begin(s section) {
	b.figures = nil
	b.text.Reset()
	mode := "full run"
	if b.Quick {
		mode = "quick run: small, one round, not to be quoted"
	}
	on := machine()
	if !s.alone {
		on += "; " + b.peers.versions()
	}
	fmt.Fprintf(&b.text, "## %s\n\n%s; %s; %s.\n\n", s.title, time.Now().UTC().Format("2006-01-02"), mode, on)
}

func (b *bench) end() string {
	if len(b.figures) > 0 {
		rows := make([][]string, len(b.figures))
		for i, f := range b.figures {
			rows[i] = []string{f.name, f.value}
		}
		b.Table([]string{"figure", "value"}, rows)
	}
	return b.text.String()
}

// Text writes a paragraph.
func (b *bench) Text(format string, args ...any) {
	fmt.Fprintf(&b.text, format+"\n\n", args...)
}

// Table writes a table; every row has a cell for each column.
func (b *bench) Table(columns []string, rows [][]string) {
	fmt.Fprintf(&b.text, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(&b.text, "| %s |\n", strings.Join(row, " | "))
	}
	b.text.WriteByte('\n')
}

// Figure names a number so that README.md may quote it: <!-- figure NAME -->VALUE<!-- /figure -->.
func (b *bench) Figure(name, format string, args ...any) {
	b.figures = append(b.figures, figure{name, fmt.Sprintf(format, args...)})
}

// Missing writes which columns a section lacks, and why.
func (b *bench) Missing(columns string, err error) {
	b.Text("Missing: %s (%v).", columns, err)
}

// Rounds returns how often each side is measured, in turn.
func (b *bench) Rounds() int {
	if b.Quick {
		return 1
	}
	return 5
}

// Alternate runs each measurement once per round, in turn, so that a busy moment of the machine affects all
// of them, and returns the median of each. A measurement returns its value in any unit.
func (b *bench) Alternate(measurements ...func() (float64, error)) ([]float64, error) {
	seen := make([][]float64, len(measurements))
	for range b.Rounds() {
		for i, measure := range measurements {
			v, err := measure()
			if err != nil {
				return nil, err
			}
			seen[i] = append(seen[i], v)
		}
	}
	medians := make([]float64, len(measurements))
	for i, values := range seen {
		medians[i] = evaluate.Median(values)
	}
	return medians, nil
}

// machine describes the machine.
func machine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s, %s/%s, %s",
		model, runtime.NumCPU(), kernel.Name(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// benchFolder returns the folder of this program's source. The program runs from the tree's root or
// from this folder.
func benchFolder() (string, error) {
	for _, folder := range []string{"bench", "."} {
		if _, err := os.Stat(folder + "/requirements.txt"); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("run it from the root of the source tree: go run ./bench")
}
