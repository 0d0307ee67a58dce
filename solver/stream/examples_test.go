package stream

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOldestExampleGoes: a full class drops its oldest example, whatever was corrected and withdrawn before.
func TestOldestExampleGoes(t *testing.T) {
	const most = 6
	random := rand.New(rand.NewPCG(3, 4))
	var c classes
	var reference []string // oldest first
	for step := range 2000 {
		id := fmt.Sprint(random.IntN(40))
		reference = slices.DeleteFunc(reference, func(x string) bool { return x == id })
		if step%7 == 3 {
			c.forget(id)
			continue
		}
		want := ""
		if reference = append(reference, id); len(reference) > most {
			want, reference = reference[0], reference[1:]
		}
		if got := c.keep("class", example{id: id}, most); got != want {
			t.Fatalf("step %d: gave up %q, want %q", step, got, want)
		}
	}
}
