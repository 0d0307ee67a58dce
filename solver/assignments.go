package solver

import (
	"iter"
	"math/rand/v2"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/communities"
)

// assignments is S, dense or as the largest values of each row.
type assignments struct {
	k       int
	values  []float32 // n x k; none when sparse
	heads   []element // n; none when dense
	entries []element // n x sparseWidth; none when dense
	dense   bool      // never sparse
	started bool      // it has values; before that only labelled rows and the prior count
}

func (s *assignments) size(n, k int) {
	s.k = k
	s.values, s.heads, s.entries = s.values[:0], s.heads[:0], s.entries[:0]
	if n <= serial || k <= sparseClasses || s.dense {
		s.values = vector.Zeroed(s.values, n*k)
		return
	}
	s.heads, s.entries = vector.Zeroed(s.heads, n), vector.Resize(s.entries, n*sparseWidth)
}

func (s *assignments) sparse() bool { return len(s.heads) > 0 }

// row returns the values of row p of a dense S.
func (s *assignments) row(p int) []float32 { return s.values[p*s.k : p*s.k+s.k] }

// clamp makes row p one-hot.
func (s *assignments) clamp(p int, class int32) {
	if s.sparse() {
		s.write(p, []element{{class, 1}})
		return
	}
	row := s.row(p)
	clear(row)
	row[class] = 1
}

// ahead is how many points in advance a point's neighbours are prefetched: rows of S are scattered in memory,
// and a cache miss takes as long as the work on several points.
const ahead = 4

// prefetch loads rows of S into the cache. Indices beyond the last row are ignored.
func (s *assignments) prefetch(rows []int32) {
	if !s.sparse() {
		kernel.Prefetch(s.values, s.k, rows)
		return
	}
	kernel.Prefetch(s.heads, 1, rows)
	kernel.Prefetch(s.entries, sparseWidth, rows)
}

// add adds w times the weighted sum of some rows of a sparse S to row, which has k values.
func (s *assignments) add(w float32, rows []int32, weights, row []float32) {
	for j, p := range rows {
		head, w := s.heads[p], w*weights[j]
		if head.class >= 0 {
			row[head.class] += w * head.value
			continue
		}
		for _, v := range s.elements(int(p)) {
			row[v.class] += w * v.value
		}
	}
}

// all yields the classes of row p, ascending, and their values; of a sparse S those that the row keeps.
func (s *assignments) all(p int) iter.Seq2[int, float32] {
	return func(yield func(int, float32) bool) {
		if !s.sparse() {
			for c, v := range s.row(p) {
				if !yield(c, v) {
					return
				}
			}
			return
		}
		for _, v := range s.elements(p) {
			if !yield(int(v.class), v.value) {
				return
			}
		}
	}
}

// product returns s_p . row in float64; row has k values.
func (s *assignments) product(p int, row []float32) (sum float64) {
	for c, v := range s.all(p) {
		sum += float64(v) * float64(row[c])
	}
	return sum
}

// answer returns the class of point p: its largest s, the first among equals.
func (s *assignments) answer(p int) (best int) {
	most := float32(-1)
	for c, v := range s.all(p) {
		if v > most {
			best, most = c, v
		}
	}
	return best
}

// sum returns the sum of row p in float64: 1 up to rounding.
func (s *assignments) sum(p int) (sum float64) {
	for _, v := range s.all(p) {
		sum += float64(v)
	}
	return sum
}

// expand writes rows lo to lo+n-1 with all k values each.
func (s *assignments) expand(out []float32, lo, n int) {
	if !s.sparse() {
		copy(out, s.values[lo*s.k:(lo+n)*s.k])
		return
	}
	clear(out[:n*s.k])
	for i := range n {
		for _, v := range s.elements(lo + i) {
			out[i*s.k+int(v.class)] = v.value
		}
	}
}

// value returns the s of row p for a class, 0 if the row does not keep it.
func (s *assignments) value(p, class int) float32 {
	if !s.sparse() {
		return s.values[p*s.k+class]
	}
	for _, v := range s.elements(p) {
		if int(v.class) == class {
			return v.value
		}
	}
	return 0
}

// start sets the first S of an episode without labels and prior: .98 for the cluster that the start chose and
// .02 shared by all. given is Problem.Start. If the start found fewer than K clusters, the others are masked
// like classes without examples.
func (e *episode) start(given []int32) {
	k := len(e.classes.number)
	cluster, found := given, k
	if given == nil {
		if e.settings.Start != StartKMeans && e.model.lambda > 0 && len(e.graph.Columns) > 0 {
			cluster, found = communities.Find(e.graph.Affinity, k, PointsOf(e.rows.u, e.rows.d).Each(), e.settings.Seed)
		} else {
			cluster, found = e.spread(k, rand.New(rand.NewPCG(e.settings.Seed, 0)))
		}
	}
	e.classes.first(found)
	e.mass.held = vector.Zeroed(e.mass.held, found)
	e.sizeForClasses()
	e.classes.setProportions(nil)
	e.startFrom(cluster)
}

// startFrom sets the first S of the unlabelled rows from their classes.
func (e *episode) startFrom(given []int32) {
	share := float32(.02) / float32(e.classes.k)
	row := make([]float32, e.classes.k)
	for p, c := range given {
		if e.rows.label[p] >= 0 {
			continue
		}
		c = e.classes.number[c]
		if e.s.sparse() {
			e.s.clamp(p, c) // equal shares carry no information
			continue
		}
		for i := range row {
			row[i] = share
		}
		row[c] += .98
		copy(e.s.row(p), row)
	}
	e.s.started = true
}

// spread is k-means++: each centre is a row drawn with probability proportional to its squared distance from
// the nearest centre so far. It ends early if every row equals a centre. It returns the nearest centre of
// each row, and their number.
func (e *episode) spread(k int, random *rand.Rand) ([]int32, int) {
	n, d := e.rows.n, e.rows.d
	cluster, near := make([]int32, n), make([]float32, n)
	centre := random.IntN(n)
	blocks := (n + tile - 1) / tile
	sums := make([]float64, blocks)
	count := 0
	for {
		row := e.rows.u[centre*d : centre*d+d]
		first := count == 0
		e.pool.run(blocks, func(_ *worker, block int) {
			sums[block] = 0
			for p := block * tile; p < min(n, (block+1)*tile); p++ {
				l := kernel.SquaredDistance(e.rows.u[p*d:p*d+d], row)
				if first || l < near[p] {
					near[p], cluster[p] = l, int32(count)
				}
				sums[block] += float64(near[p])
			}
		})
		count++
		var total float64
		for _, v := range sums {
			total += v
		}
		if count == k || total <= 0 {
			return cluster, count
		}
		left := random.Float64() * total
		block := 0
		for block < blocks-1 && left >= sums[block] {
			left -= sums[block]
			block++
		}
		centre = -1
		for p := block * tile; p < min(n, (block+1)*tile); p++ {
			if near[p] > 0 {
				if centre = p; left < float64(near[p]) {
					break
				}
			}
			left -= float64(near[p])
		}
		for p := 0; centre < 0; p++ { // rounding went past the last row with a distance
			if near[p] > 0 {
				centre = p
			}
		}
	}
}
