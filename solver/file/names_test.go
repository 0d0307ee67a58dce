package file

import (
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/internal/vector"
)

// The names of classes, and so their order, change no answer; also with more classes than labels are spread
// for at once, some with many labels and rows and some with few.
func TestNamesOfClassesMeanNothing(t *testing.T) {
	const n, d, k = 1200, 16, 40
	random := rand.New(rand.NewPCG(5, 5))
	centres := vector.New(k, d)
	for i := range centres.Values {
		centres.Values[i] = float32(random.NormFloat64())
	}
	draw := func(c int) []float32 {
		row := make([]float32, d)
		for j, v := range centres.Row(c) {
			row[j] = v + 1.1*float32(random.NormFloat64())
		}
		return row
	}
	rows := vector.New(n, d)
	for i := range n {
		copy(rows.Row(i), draw(min(random.IntN(k), random.IntN(k), random.IntN(k))))
	}
	var support []float32
	var classes []int32
	for c := range k {
		for range 1 + 20/(c+1) {
			support, classes = append(support, draw(c)...), append(classes, int32(c))
		}
	}
	answers := func(names []int) []int32 {
		p := &Problem{
			N: n, D: d, K: k, Support: vector.Rows(support, d), SupportClasses: make([]int32, len(classes)),
			Read: func(use func([]float32, int32) error) error {
				for i := range n {
					if err := use(rows.Row(i), -1); err != nil {
						return err
					}
				}
				return nil
			},
		}
		for i, c := range classes {
			p.SupportClasses[i] = int32(names[c])
		}
		back := make([]int32, k)
		for c, name := range names {
			back[name] = int32(c)
		}
		labels := solve(t, p, Settings{}).Labels
		for i, c := range labels {
			labels[i] = back[c]
		}
		return labels
	}
	straight, reversed := make([]int, k), make([]int, k)
	for c := range k {
		straight[c], reversed[c] = c, k-1-c
	}
	want := answers(straight)
	for _, names := range [][]int{reversed, random.Perm(k)} {
		if same := accuracy(answers(names), want); same < .998 {
			t.Errorf("%.4f of the answers are the same", same)
		}
	}
}
