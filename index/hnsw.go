//go:build !windows

package index

import (
	"bufio"
	"encoding/binary"
	"math"

	"github.com/coder/hnsw"

	"github.com/slkstream/slkstream/internal/kernel"
)

// hnswBuilt reports whether this build has the HNSW library.
const hnswBuilt = true

// libraryGraph is an HNSW graph in the library. We make its layers and do not change them, so that its
// answers depend on nothing but them and the query: the library itself inserts in the order of Go maps, and
// loses near neighbours. Its vectors hold only a number: distances are ours, and no rows are copied.
type libraryGraph struct {
	graph   *hnsw.Graph[int32]
	points  *points
	queries []graphQuery // of each goroutine
}

// graphQuery is the query of a search.
type graphQuery struct {
	vector  []float32
	without int32 // a row to leave out
}

// newLibraryGraph imports layers over the rows of p into the library, for searches by this many goroutines.
func newLibraryGraph(layers []layer, p *points, goroutines int) (*libraryGraph, error) {
	g := &libraryGraph{graph: hnsw.NewGraph[int32](), points: p, queries: make([]graphQuery, goroutines)}
	from := bufio.NewReaderSize(&layerReader{layers: layers, position: -1}, 1<<16)
	if err := g.graph.Import(from); err != nil {
		return nil, err
	}
	g.graph.Distance = g.distance
	return g, nil
}

// distance returns the distance of a query from a row of the graph, which the library's searches pass first.
func (g *libraryGraph) distance(row, query []float32) float32 {
	n, q := number(row), &g.queries[number(query)]
	if n == q.without {
		return math.MaxFloat32
	}
	return kernel.SquaredDistance(g.points.row(int(n)), q.vector)
}

// search appends the numbers of about k rows near query to dst, in no order, except the row numbered without.
// Each goroutine has a number of its own.
func (g *libraryGraph) search(goroutine int, dst []int32, query []float32, k int, without int32) []int32 {
	g.queries[goroutine] = graphQuery{query, without}
	for _, node := range g.graph.Search([]float32{standIn(int32(goroutine))}, k) {
		if node.Key != without {
			dst = append(dst, node.Key)
		}
	}
	return dst
}

// number returns what a vector represents: a row, or an index of queries.
func number(vector []float32) int32 { return int32(math.Float32bits(vector[0])) }

// standIn returns the only value of the vector that represents a number.
func standIn(number int32) float32 { return math.Float32frombits(uint32(number)) }

// layerReader is the input of the library's Import: a version, the parameters and the name of a distance,
// both of which we set afterwards, and the nodes of each layer with their vectors and links.
type layerReader struct {
	layers   []layer
	buffer   []byte // bytes to be read next
	layer    int
	position int // in the layer; -1 before its first node
	begun    bool
}

func (r *layerReader) Read(p []byte) (int, error) {
	if len(r.buffer) == 0 {
		r.fill()
	}
	n := copy(p, r.buffer)
	r.buffer = r.buffer[n:]
	return n, nil
}

// fill encodes the next node, with the headers before it.
func (r *layerReader) fill() {
	b := r.buffer[:0]
	if !r.begun {
		r.begun = true
		b = binary.AppendVarint(b, 1) // version
		b = binary.AppendVarint(b, links)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(1./links))
		b = binary.AppendVarint(b, candidatesAsked)
		name := "euclidean"
		b = append(binary.AppendVarint(b, int64(len(name))), name...)
		b = binary.AppendVarint(b, int64(len(r.layers)))
	}
	l := &r.layers[r.layer]
	if r.position < 0 {
		b = binary.AppendVarint(b, int64(len(l.rows)))
		r.position = 0
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(l.rows[r.position]))
	b = binary.AppendVarint(b, 1)
	b = binary.LittleEndian.AppendUint32(b, uint32(l.rows[r.position]))
	linked := l.linksOf(r.position)
	b = binary.AppendVarint(b, int64(len(linked)))
	for _, other := range linked {
		b = binary.LittleEndian.AppendUint32(b, uint32(other))
	}
	r.buffer = b
	if r.position++; r.position == len(l.rows) {
		r.layer, r.position = r.layer+1, -1
	}
}
