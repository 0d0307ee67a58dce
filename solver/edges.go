package solver

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Edge adds Weight, which may be negative, to the weight of a pair of rows in W, because they are known to be
// the same thing or different things. Indices from N on are anchors. An edge to a labelled row or an anchor
// counts for its class.
type Edge struct {
	P, Q   int32
	Weight float32
}

// checkGraphTerms reports the first fault of Lag, Earlier, Edges and Evidence.
func (p *Problem) checkGraphTerms() error {
	all := p.N + p.anchors()
	if i := vector.NotFinite(p.Lag); i >= 0 {
		return fmt.Errorf("lag %d: %g is not finite", i+1, p.Lag[i])
	}
	if len(p.Lag) > 0 && (p.N > mostGram || p.Affinity != nil) {
		return fmt.Errorf("lag: needs a graph that is built here, of at most %d rows, not %d", mostGram, p.N)
	}
	if p.Earlier < 0 || p.Earlier > p.N {
		return fmt.Errorf("earlier: %d of %d rows", p.Earlier, p.N)
	}
	for i, e := range p.Edges {
		if e.P < 0 || e.Q < 0 || int(e.P) >= all || int(e.Q) >= all || e.P == e.Q {
			return fmt.Errorf("edge %d: from %d to %d: not two of %d rows and anchors", i, e.P, e.Q, all)
		}
		if !p.inForce(e.P) || !p.inForce(e.Q) {
			return fmt.Errorf("edge %d: from %d to %d: one is an anchor that is not in force", i, e.P, e.Q)
		}
		if !bounded(e.Weight) {
			return fmt.Errorf("edge %d: weight %g is not between %g and %g", i, e.Weight, -mostTerm, mostTerm)
		}
	}
	if err := p.Weights.check(p); err != nil {
		return err
	}
	if p.Evidence == nil {
		return nil
	}
	if len(p.Evidence) != p.N*p.K {
		return fmt.Errorf("evidence: %d values, not %d rows of %d classes", len(p.Evidence), p.N, p.K)
	}
	if i := slices.IndexFunc(p.Evidence, func(v float32) bool { return !bounded(v) }); i >= 0 {
		return fmt.Errorf("evidence: row %d, class %d: %g is not between %g and %g",
			i/p.K, i%p.K, p.Evidence[i], -mostTerm, mostTerm)
	}
	return nil
}

// mostTerm bounds the weight of an edge and evidence: times the largest lambda, many of them added up are
// finite. Streams divide weights by lambda, which may be small.
const mostTerm = 1e20

func bounded(v float32) bool { return v >= -mostTerm && v <= mostTerm }

// entry is one value in a row of a sparse matrix.
type entry struct {
	column int32
	weight float32
}

// addEdges replaces the graph by its sum with the given edges.
func (e *episode) addEdges(edges []Edge) {
	if len(edges) == 0 {
		return
	}
	e.graph.enter(edges, e.n, e.label)
	before, sum := e.graph.Affinity, &e.graph.summed
	*sum = index.Affinity{Offsets: vector.Resize(sum.Offsets, e.n+1), Columns: sum.Columns[:0], Weights: sum.Weights[:0]}
	sum.Offsets[0] = 0
	put := func(column int32, weight float32, from int64) {
		if last := len(sum.Columns) - 1; last >= int(from) && sum.Columns[last] == column {
			sum.Weights[last] += weight
			return
		}
		sum.Columns, sum.Weights = append(sum.Columns, column), append(sum.Weights, weight)
	}
	begin := 0
	for p, end := range e.graph.ends {
		columns, weights := before.Row(p)
		from := sum.Offsets[p]
		for _, added := range e.graph.entries[begin:end] {
			for len(columns) > 0 && columns[0] <= added.column {
				put(columns[0], weights[0], from)
				columns, weights = columns[1:], weights[1:]
			}
			put(added.column, added.weight, from)
		}
		for j, q := range columns {
			put(q, weights[j], from)
		}
		sum.Offsets[p+1] = int64(len(sum.Columns))
		begin = end
	}
	e.graph.Affinity = sum
}

// enter lists both ends of each edge by row and column; edges of a pair keep their order. Rows of labelled
// items stay empty, because W's are not read.
func (g *graph) enter(edges []Edge, rows int, label []int32) {
	g.ends = vector.Zeroed(g.ends, rows)
	count := 0
	for _, edge := range edges {
		for _, p := range [2]int32{edge.P, edge.Q} {
			if label[p] < 0 {
				g.ends[p]++
				count++
			}
		}
	}
	at := 0
	for p, n := range g.ends { // for now the start of each row
		g.ends[p] = at
		at += n
	}
	g.entries = vector.Resize(g.entries, count)
	put := func(row, column int32, weight float32) {
		if label[row] < 0 {
			g.entries[g.ends[row]] = entry{column, weight}
			g.ends[row]++
		}
	}
	for _, edge := range edges {
		put(edge.P, edge.Q, edge.Weight)
		put(edge.Q, edge.P, edge.Weight)
	}
	begin := 0
	for _, end := range g.ends { // nearly always sorted already
		slices.SortStableFunc(g.entries[begin:end], func(a, b entry) int { return cmp.Compare(a.column, b.column) })
		begin = end
	}
}

// addEvidence adds lambda times a row's evidence to its scores.
func (e *episode) addEvidence(p int, row []float32) {
	if e.graph.evidence == nil {
		return
	}
	evidence := e.graph.evidence[p*len(e.number):]
	if len(e.class) == len(e.number) {
		kernel.Axpy(float32(e.lambda), evidence[:len(row)], row)
		return
	}
	for c, class := range e.class {
		row[c] += float32(e.lambda) * evidence[class]
	}
}

// evidenceTerm returns what a row's evidence adds to R. s_p is scale times row.
func (e *episode) evidenceTerm(p int, row []float32, scale float64) (sum float64) {
	if e.graph.evidence == nil {
		return 0
	}
	evidence := e.graph.evidence[p*len(e.number):]
	for c, class := range e.class {
		sum -= e.lambda * float64(evidence[class]) * float64(row[c]) * scale
	}
	return sum
}
