package file

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/index"
)

// chain returns neighbour lists of groups of rows that are tied all to all within, and by one weak tie to the
// next group.
func chain(groups, size int) *index.Neighbours {
	n := groups * size
	lists := &index.Neighbours{N: n, Rho: size, IDs: make([]int32, n*size), Distances: make([]float32, n*size)}
	for p := range n {
		ids, distances := lists.Row(p)
		for j := range size {
			ids[j], distances[j] = -1, 0
		}
		at := 0
		for q := p / size * size; q < (p/size+1)*size; q++ {
			if q != p {
				ids[at], distances[at] = int32(q), 1+float32(p+q)/float32(2*n)
				at++
			}
		}
		if p%size == 0 && p+size < n {
			ids[at], distances[at] = int32(p+size), 3
		}
	}
	return lists
}

// The solution fulfils its equations, whatever rows are fixed, and labels travel along a chain of communities
// in far fewer steps than it has rows.
func TestSystem(t *testing.T) {
	const groups, size, k = 300, 8, 3
	similar := similarities(chain(groups, size), 1)
	n := groups * size
	for name, every := range map[string]int{"none fixed": 0, "some fixed": 50, "all fixed": 1} {
		t.Run(name, func(t *testing.T) {
			var fixed []bool
			if every > 0 {
				fixed = make([]bool, n)
				for p := 0; p < n; p += every {
					fixed[p] = true
				}
			}
			s := newSystem(similar, 1e-3, fixed)
			random := rand.New(rand.NewPCG(3, 3))
			b, x := make([]float32, n*k), make([]float32, n*k)
			for p := range n {
				for c := range k {
					if !s.isFixed(int32(p)) && p%7 == 0 {
						b[p*k+c] = float32(random.NormFloat64())
					}
				}
			}
			given, steps := append([]float32(nil), b...), 0
			x, err := s.solve(t.Context(), b, x, k, func(int, int) { steps++ })
			if err != nil {
				t.Fatal(err)
			}
			back := make([]float32, n*k)
			s.times(back, x, 0, n, k)
			var left, whole float64
			for i, v := range given {
				d := float64(s.diagonal[i/k])
				left += math.Pow(float64(v-back[i]), 2) / d
				whole += float64(v) * float64(v) / d
				if s.isFixed(int32(i/k)) && x[i] != 0 {
					t.Fatalf("a fixed row has %g", x[i])
				}
			}
			if left > 4*leftOver*leftOver*whole {
				t.Errorf("%g of the right side is left", math.Sqrt(left/whole))
			}
			if steps > 25 {
				t.Errorf("%d steps over %d rows", steps, n)
			}
		})
	}
}
