package solver

import (
	"errors"
	"math"
	"testing"
)

// Each fault in the arguments of Label is an error; a fault of a row is a RowError with its number.
func TestFaultsOfLabel(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		rows   [][]float32
		labels []string
		row    int // -1: not a fault of a row
	}{
		"nothing":                   {nil, nil, -1},
		"fewer labels than rows":    {[][]float32{{1, 0}, {0, 1}}, []string{"a"}, -1},
		"no label":                  {[][]float32{{1, 0}, {0, 1}}, []string{"", ""}, -1},
		"rows without a value":      {[][]float32{{}, {}}, []string{"a", ""}, -1},
		"a shorter row":             {[][]float32{{1, 0}, {0}}, []string{"a", ""}, 1},
		"a value that is no number": {[][]float32{{1, 0}, {0, nan}}, []string{"a", ""}, 1},
		"a labelled row with one":   {[][]float32{{nan, 0}, {0, 1}}, []string{"a", ""}, 0},
	} {
		_, _, err := Label(c.rows, c.labels)
		var fault *RowError
		if of := errors.As(err, &fault); err == nil || of != (c.row >= 0) || of && fault.Row != c.row {
			t.Errorf("%s: error %v", name, err)
		}
	}
	answers, confidence, err := Label([][]float32{{1, 0}, {0, 1}, {.9, .1}}, []string{"b", "a", ""})
	if err != nil || answers[0] != "b" || answers[1] != "a" || answers[2] != "b" {
		t.Errorf("answers %v, error %v", answers, err)
	}
	if len(confidence) != 3 || confidence[0] != 1 || !(confidence[2] > .5 && confidence[2] <= 1) {
		t.Errorf("confidence %v", confidence)
	}
}
