package solver

import (
	"math/rand/v2"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/communities"
)

// start sets the first S of an episode without labels and prior: .98 for the cluster that the start chose and
// .02 shared by all. given is Problem.Start. If the start found fewer than K clusters, the others are masked
// like classes without examples.
func (e *episode) start(given []int32) {
	k := len(e.number)
	cluster, found := given, k
	if given == nil {
		if e.settings.Start != StartKMeans && e.lambda > 0 && len(e.graph.Columns) > 0 {
			cluster, found = communities.Find(e.graph.Affinity, k, PointsOf(e.u, e.d).Each(), e.settings.Seed)
		} else {
			cluster, found = e.spread(k, rand.New(rand.NewPCG(e.settings.Seed, 0)))
		}
	}
	e.resize(found)
	e.startFrom(cluster)
}

// startFrom sets the first S of the unlabelled rows from their classes.
func (e *episode) startFrom(given []int32) {
	share := float32(.02) / float32(e.k)
	row := make([]float32, e.k)
	for p, c := range given {
		if e.label[p] >= 0 {
			continue
		}
		c = e.number[c]
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
	e.started = true
}

// resize sets the active classes of an episode without labels: 0 to k-1.
func (e *episode) resize(k int) {
	e.k, e.class = k, e.class[:0]
	for c := range k {
		e.class = append(e.class, int32(c))
	}
	e.held, e.soft, e.length = vector.Zeroed(e.held, k), vector.Zeroed(e.soft, k), vector.Zeroed(e.length, k)
	e.total, e.last = vector.Resize(e.total, k), vector.Resize(e.last, k)
	e.s.size(e.n, k)
	e.setProportions(nil)
}

// spread is k-means++: each centre is a row drawn with probability proportional to its squared distance from
// the nearest centre so far. It ends early if every row equals a centre. It returns the nearest centre of
// each row, and their number.
func (e *episode) spread(k int, random *rand.Rand) ([]int32, int) {
	n, d := e.n, e.d
	cluster, near := make([]int32, n), make([]float32, n)
	centre := random.IntN(n)
	blocks := (n + tile - 1) / tile
	sums := make([]float64, blocks)
	count := 0
	for {
		row := e.u[centre*d : centre*d+d]
		first := count == 0
		e.pool.run(blocks, func(_ *worker, block int) {
			sums[block] = 0
			for p := block * tile; p < min(n, (block+1)*tile); p++ {
				l := kernel.SquaredDistance(e.u[p*d:p*d+d], row)
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
