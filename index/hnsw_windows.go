package index

// hnswBuilt reports whether this build has the HNSW library. coder/hnsw replaces files in a way that Windows
// does not support, and does not compile there.
const hnswBuilt = false

// libraryGraph is never made where hnswBuilt is false.
type libraryGraph struct{}

func newLibraryGraph([]layer, *points, int) (*libraryGraph, error) { return nil, errNoHNSW }

func (*libraryGraph) search(int, []int32, []float32, int, int32) []int32 { return nil }
