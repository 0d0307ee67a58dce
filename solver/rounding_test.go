package solver

import "testing"

// The rise of R that rounding may cause grows with the number of rows, not with R: with a million rows and R
// of ten millions, a rise by 50 is a rise.
func TestRounding(t *testing.T) {
	for _, c := range []struct {
		rows int
		rise float64
		is   bool
	}{
		{1_000_000, 50, true},
		{1_000_000, 5, true},
		{1_000_000, .5, false},
		{100, 1e-3, true},
		{100, 1e-6, false},
	} {
		solve, _ := defaultSolver(t, nil)
		e := &solve.episode
		e.settings, e.rows.unlabelled, e.model.sharpness = &solve.settings, c.rows, 1
		e.anneal(0, 0)
		if got := c.rise > e.rounding(); got != c.is {
			t.Errorf("%d rows: a rise by %g counts: %t, as %g is allowed", c.rows, c.rise, got, e.rounding())
		}
	}
}
