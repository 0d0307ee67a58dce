package evaluate

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A plot is well-formed SVG with a line for each name, for any values.
func TestPlots(t *testing.T) {
	for name, trace := range map[string][]float64{
		"falls": {10, 5, 4.2, 4}, "flat": {3, 3, 3}, "zero": {0}, "not finite": {math.NaN(), math.Inf(1), 2, 1},
		"tiny": {1e-9, 2e-9},
	} {
		path := filepath.Join(t.TempDir(), "plots", "trace.svg")
		if err := PlotTrace(path, "A & B <"+name+">", trace); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		decoder := xml.NewDecoder(strings.NewReader(string(text)))
		lines := 0
		for {
			token, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "polyline" {
				lines++
			}
		}
		if lines != 1 || strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
			t.Errorf("%s: %d lines\n%s", name, lines, text)
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	for span, want := range map[axisSpan]int{{0, 1}: 6, {0, 10}: 6, {-313, -280}: 4, {0, 1e-9}: 6, {0, 7}: 8} {
		if got := len(span.ticks()); got < 3 || got > 9 {
			t.Errorf("%v: %v, about %d expected", span, span.ticks(), want)
		}
	}
}
