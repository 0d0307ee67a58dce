// Package communities finds clusters of the points of a graph.
package communities

import (
	"math/rand/v2"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
)

// Rows gives the embedded rows of the points of a graph, by which clusters are joined that the graph does not tie.
type Rows struct {
	D  int                   // numbers in a row
	At func(p int) []float32 // valid until the next call; nil: there are no rows
}

// Find divides a graph into at most k clusters. Local moving by modularity starts from single points and is
// repeated on the aggregated graph while it leaves k communities. Then the pair with the largest B_ij /
// (vol_i vol_j) is merged until k are left; with k 0 until no pair is tied more than by chance, B_ij <=
// vol_i vol_j / total, where another merge would lower the modularity. If the graph falls into more than k
// parts that nothing ties, merging ends as with k 0, and what is left is joined by the means of its rows: else
// each part would become one cluster, however loosely it hangs together. Without rows such parts stay more
// than k. Find returns the cluster of each point and the number of clusters.
func Find(a *index.Affinity, k int, rows Rows, seed uint64) ([]int32, int) {
	net, parts := fromAffinity(a).nested(k, 32, rand.New(rand.NewPCG(seed, 0)))
	member := []int32(separate(a.N())) // node of the network
	for _, part := range parts {
		rename(member, part)
	}
	least := 0.
	if k == 0 {
		least = chance
	}
	part, count := net.merge(k, least)
	if k > 0 && count > k && rows.At != nil {
		part, count = net.merge(k, chance)
		rename(member, part)
		part, count = join(rows, member, count, k)
	}
	rename(member, part)
	return member, count
}

// Nested returns communities of the points of a graph, level by level, fewer in each: the community of each
// point, then the community of each of these, and so on. There is at least one level.
func Nested(a *index.Affinity, seed uint64) [][]int32 {
	_, parts := fromAffinity(a).nested(1, 4, rand.New(rand.NewPCG(seed, 0)))
	if len(parts) == 0 { // no pair is tied
		parts = append(parts, separate(a.N()))
	}
	return parts
}

// nested moves the nodes of the network, in at most the given sweeps, aggregates it, and repeats this while
// at least the given number of communities are left. It returns the last network, and for each level the
// community of each node.
func (g *network) nested(least, sweeps int, random *rand.Rand) (*network, [][]int32) {
	var parts [][]int32
	for g.n() > least {
		part, count := g.move(sweeps, random)
		if count < least || count == g.n() {
			break
		}
		parts, g = append(parts, part), g.aggregate(part, count)
	}
	return g, parts
}

// rename replaces the cluster of each point by its new number.
func rename(member, number []int32) {
	for p, m := range member {
		member[p] = number[m]
	}
}

// network is a weighted graph whose nodes are sets of points. inside is the weight within a set, each
// pair counted twice.
type network struct {
	offsets []int
	columns []int32
	weights []float64
	inside  []float64
	volume  []float64
	total   float64 // sum of volumes
}

func (g *network) n() int { return len(g.volume) }

func fromAffinity(a *index.Affinity) *network {
	n := a.N()
	g := &network{
		offsets: make([]int, n+1), columns: a.Columns, weights: make([]float64, len(a.Weights)),
		inside: make([]float64, n), volume: make([]float64, n),
	}
	for p := range n {
		g.offsets[p+1] = int(a.Offsets[p+1])
		for j := g.offsets[p]; j < g.offsets[p+1]; j++ {
			g.weights[j] = max(0, float64(a.Weights[j])) // negative weights do not attract
			g.volume[p] += g.weights[j]
		}
		g.total += g.volume[p]
	}
	return g
}

// move puts each node into the neighbouring community with the largest gain of modularity, and repeats
// this until few nodes move, or for so many sweeps. It returns the community of each node, numbered by
// first node, and the number of communities.
func (g *network) move(sweeps int, random *rand.Rand) ([]int32, int) {
	n := g.n()
	community, volume := []int32(separate(n)), append([]float64(nil), g.volume...)
	weight := make([]float64, n) // from the present node to a community
	var met []int32
	order := random.Perm(n)
	for range sweeps {
		moved := 0
		for at, i := range order {
			if at+ahead < n {
				g.prefetch(order[at+ahead])
			}
			own := community[i]
			met = append(met[:0], own)
			for j := g.offsets[i]; j < g.offsets[i+1]; j++ {
				c := community[g.columns[j]]
				if weight[c] == 0 && c != own {
					met = append(met, c)
				}
				weight[c] += g.weights[j]
			}
			volume[own] -= g.volume[i]
			best, most := own, weight[own]-g.volume[i]*volume[own]/g.total
			for _, c := range met[1:] {
				if gain := weight[c] - g.volume[i]*volume[c]/g.total; gain > most || gain == most && c < best {
					best, most = c, gain
				}
			}
			for _, c := range met {
				weight[c] = 0
			}
			volume[best] += g.volume[i]
			if best != own {
				community[i] = best
				moved++
			}
		}
		if moved <= n/1000 {
			break
		}
	}
	number := make([]int32, n)
	count := 0
	for _, c := range community {
		if number[c] == 0 {
			count++
			number[c] = int32(count)
		}
	}
	for i, c := range community {
		community[i] = number[c] - 1
	}
	return community, count
}

// ahead is how many nodes in advance a node's edges are requested from memory: nodes take their turns at random.
const ahead = 4

// prefetch requests the edges of a node, which are read soon. It changes nothing.
func (g *network) prefetch(node int) {
	from, to := g.offsets[node], g.offsets[node+1]
	kernel.Prefetch(g.columns[from:to], to-from, first)
	kernel.Prefetch(g.weights[from:to], to-from, first)
}

// first names the first of some rows.
var first = []int32{0}

// aggregate makes each community one node.
func (g *network) aggregate(part []int32, count int) *network {
	out := &network{
		offsets: make([]int, count+1), inside: make([]float64, count),
		volume: make([]float64, count), total: g.total,
	}
	nodes, first := make([]int32, g.n()), make([]int, count+1)
	for _, c := range part {
		first[c+1]++
	}
	for c := range count {
		first[c+1] += first[c]
	}
	next := append([]int(nil), first...)
	for i, c := range part {
		nodes[next[c]] = int32(i)
		next[c]++
	}
	weight := make([]float64, count)
	var met []int32
	for c := range count {
		met = met[:0]
		for _, i := range nodes[first[c]:first[c+1]] {
			out.volume[c] += g.volume[i]
			out.inside[c] += g.inside[i]
			for j := g.offsets[i]; j < g.offsets[i+1]; j++ {
				other := part[g.columns[j]]
				if int(other) == c {
					out.inside[c] += g.weights[j]
					continue
				}
				if weight[other] == 0 && g.weights[j] > 0 {
					met = append(met, other)
				}
				weight[other] += g.weights[j]
			}
		}
		slices.Sort(met)
		for _, other := range met {
			out.columns, out.weights = append(out.columns, other), append(out.weights, weight[other])
			weight[other] = 0
		}
		out.offsets[c+1] = len(out.columns)
	}
	return out
}
