//go:build !windows

package index

import (
	"bufio"
	"encoding/binary"
	"math"

	"github.com/coder/hnsw"

	"github.com/slkstream/slkstream/internal/kernel"
)

// hnswBuilt says whether this build has the HNSW library.
const hnswBuilt = true

// libraryGraph is an HNSW graph in the library. Its layers were made by us and do not change, so that its answers depend on
// nothing but them and the query: the library by itself inserts in the order in which Go walks through maps, and loses near
// neighbours. Its vectors hold nothing but the number of a row: distances are ours and no row is copied. Any number of
// goroutines may search.
type libraryGraph struct {
	graph      *hnsw.Graph[int32]
	row        func(number int32) []float32
	candidates int         // to be asked for, so that few of the nearest are missing
	free       chan int32  // places of queries that are not in use
	queries    [][]float32 // of each place
}

// searchesAtOnce is how many searches of a graph run side by side; more wait.
const searchesAtOnce = 64

// newLibraryGraph hands layers to the library. row returns a row by its number, for as long as the graph is in use.
func newLibraryGraph(layers []layer, row func(number int32) []float32) (*libraryGraph, error) {
	g := &libraryGraph{row: row, graph: hnsw.NewGraph[int32](), free: make(chan int32, searchesAtOnce), queries: make([][]float32, searchesAtOnce)}
	for place := range int32(searchesAtOnce) {
		g.free <- place
	}
	if err := g.graph.Import(bufio.NewReaderSize(&layerReader{layers: layers, place: -1}, 1<<16)); err != nil {
		return nil, err
	}
	at := func(vector []float32) []float32 { // numbers below zero are queries
		if number := int32(math.Float32bits(vector[0])); number >= 0 {
			return g.row(number)
		} else {
			return g.queries[-1-number]
		}
	}
	g.graph.Distance = func(a, b []float32) float32 { return kernel.SquaredDistance(at(a), at(b)) }
	return g, nil
}

// search appends the numbers of about k rows near query to dst, in no order.
func (g *libraryGraph) search(dst []int32, query []float32, k int) []int32 {
	place := <-g.free
	defer func() { g.free <- place }()
	g.queries[place] = query
	for _, node := range g.graph.Search([]float32{standIn(-1 - place)}, k) {
		dst = append(dst, node.Key)
	}
	return dst
}

// standIn is the only value of a number's vector.
func standIn(number int32) float32 { return math.Float32frombits(uint32(number)) }

// layerReader is what the library's Import reads: a version, the parameters and the name of a distance, both of which we set
// afterwards, and the nodes of each layer with their vectors and links.
type layerReader struct {
	layers []layer
	buffer []byte // what is next
	layer  int
	place  int // in the layer; -1 before its first node
	begun  bool
}

func (r *layerReader) Read(p []byte) (int, error) {
	if len(r.buffer) == 0 {
		r.fill()
	}
	n := copy(p, r.buffer)
	r.buffer = r.buffer[n:]
	return n, nil
}

// fill writes the next node, with what stands before it.
func (r *layerReader) fill() {
	b := r.buffer[:0]
	if !r.begun {
		r.begun = true
		b = binary.AppendVarint(b, 1) // version
		b = binary.AppendVarint(b, links)
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(1./thinning))
		b = binary.AppendVarint(b, candidatesAsked)
		name := "euclidean"
		b = append(binary.AppendVarint(b, int64(len(name))), name...)
		b = binary.AppendVarint(b, int64(len(r.layers)))
	}
	l := &r.layers[r.layer]
	if r.place < 0 {
		b = binary.AppendVarint(b, int64(len(l.rows)))
		r.place = 0
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(l.rows[r.place]))
	b = binary.AppendVarint(b, 1)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(standIn(l.rows[r.place])))
	linked := l.linksOf(r.place)
	b = binary.AppendVarint(b, int64(len(linked)))
	for _, other := range linked {
		b = binary.LittleEndian.AppendUint32(b, uint32(other))
	}
	r.buffer = b
	if r.place++; r.place == len(l.rows) {
		r.layer, r.place = r.layer+1, -1
	}
}
