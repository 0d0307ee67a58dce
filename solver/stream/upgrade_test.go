package stream

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// stateFirst is a stream in the first format: three classes, two shots each, three episodes of twelve items
// of newCamera(11, 3, 6, .5) with a tenth of them taught. Its metric and residuals have full precision, and
// it has a settled unknown limit.
//
//go:embed testdata/state-first.txt
var stateFirst []byte

// TestRestoreFirstFormat: a stream in the first format keeps its examples, its proportions, its calibration
// and its position; its metric, whose format has changed, is learned again.
func TestRestoreFirstFormat(t *testing.T) {
	var pieces []Piece
	lines := bufio.NewScanner(bytes.NewReader(stateFirst))
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, Piece{name, b})
	}
	set := settings(t)
	s, err := Restore(set, pieces)
	if err != nil {
		t.Fatal(err)
	}
	got := s.Summary()
	examples := ""
	for _, c := range got.Classes {
		examples += fmt.Sprintf("%s %d %.3f ", c.Class, c.Examples, c.Proportion)
	}
	if want := "class-00 2 0.391 class-01 0 0.287 class-02 4 0.321 "; examples != want {
		t.Errorf("classes, examples and shares %q, not %q", examples, want)
	}
	if got.Episode != 3 || got.LearnedTo != (Position{Offset: 35, Object: -1}) || !got.Taught || got.Answers != 3 ||
		got.Dimension != 6 {
		t.Errorf("restored %+v", got)
	}
	if got.Metric {
		t.Error("a metric of the first format is in force")
	}
	f := newCamera(11, 3, 6, .5)
	labels, e := f.labels(2), new(Engine)
	right, all := 0, 0
	for range 6 {
		items, truth := f.episode(12, 0)
		answers, _ := answer(t, s, e, items, labels)
		for i, a := range answers {
			if all++; a.Label == truth[i] {
				right++
			}
		}
	}
	if right < all*9/10 {
		t.Errorf("%d of %d answers are right", right, all)
	}
	if got := s.Summary(); got.Episode != 9 || !got.Metric {
		t.Errorf("after six more episodes: episode %d, metric %t", got.Episode, got.Metric)
	}
	if _, err := Restore(set, s.State()); err != nil {
		t.Errorf("its state of now: %v", err)
	}
}

// A shape of a state from before likenesses were kept is judged as it was then.
func TestShapesOfOlderStates(t *testing.T) {
	h := embedder{mean: make([]float32, 4), spread: make([]float32, 4), mass: 60, usual: .2}
	written := &fields{kind: "embedder", writes: true, dimension: 4}
	h.fields(written)
	for _, old := range []bool{false, true} {
		read := parse(written.b)
		read.kind, read.dimension = "embedder", 4
		want := .2
		if old {
			delete(read.values, fieldUsual)
			want = 1
		}
		var got embedder
		if got.fields(read); read.err != nil || got.usual != want || got.mass != 60 {
			t.Errorf("older: %t: %+v, %v", old, got, read.err)
		}
	}
}

// A prototype of a state from before had 32 bits a number.
func TestPrototypesOfOlderStates(t *testing.T) {
	written := &fields{kind: "class", name: "x", writes: true, dimension: 3}
	mass, inverse, want := 4., float32(.5), []float32{1, -2, .5}
	number(written, fieldMass, &mass)
	slice(written, fieldRawMean, &want, 3)
	number(written, fieldInverse, &inverse)
	read := parse(written.b)
	read.kind, read.name, read.dimension = "class", "x", 3
	var p prototypes
	p.fields(read)
	x := p.of["x"]
	if read.err != nil || x == nil || x.mass != mass || x.inverse != inverse {
		t.Fatalf("%+v, %v", x, read.err)
	}
	got := make([]float32, 3)
	vector.LongRow(got, x.mean, x.scale)
	for i, v := range got {
		if d := v - want[i]; d > 1e-4 || d < -1e-4 {
			t.Errorf("%g at %d, not %g", v, i, want[i])
		}
	}
}

// A sketch of a state from before lists the directions of its metric as well.
func TestSketchesOfOlderStates(t *testing.T) {
	want := metric.Sketch{
		Count: 9, Sum: []float64{1, 2, 3}, Inverse: 4, Freedom: 7, Trace: 2, Scales: []float32{1, 2},
		Directions: []int8{127, 0, 0}, Products: []int16{1, 2, 3, 4, 5, 6},
	}
	written := &fields{kind: "scatter", writes: true, dimension: 3}
	sketchFields(written, &want, nil)
	read := parse(written.b)
	read.kind, read.dimension = "scatter", 3
	m := learnedMetric{current: &metric.Metric{}}
	if m.fields(read); read.err != nil || !reflect.DeepEqual(*m.seen, want) {
		t.Errorf("%+v, %v", m.seen, read.err)
	}
}
