package file

import (
	"strings"
	"testing"
)

// The matrices of a metric grow with the square of the columns: they are part of the plan, and refused where they do
// not fit.
func TestManyColumnsArePlanned(t *testing.T) {
	const gib = 1 << 30
	p := &Problem{N: 60, D: 20_000, K: 2}
	plan, err := p.plan(4 * gib)
	if most := int64(matrices*4) * 20_000 * 20_000; err != nil || plan.Peak < most {
		t.Errorf("planned %s of at least %s: %v", Size(plan.Peak), Size(most), err)
	}
	if plan, err := p.plan(gib); err == nil || !strings.Contains(err.Error(), "fewer columns") {
		t.Errorf("planned %v, %v", plan, err)
	}
}
