package index

import "context"

// hnswBuilt says whether this build has the HNSW library. coder/hnsw replaces files in a way that Windows does not have, and
// does not compile there.
const hnswBuilt = false

// navigator is never made where hnswBuilt is false: a Memory looks at every vector.
type navigator struct{}

func newNavigator(func(int32) []float32, uint64) *navigator { return nil }

func (*navigator) add(int32)                                 {}
func (*navigator) search([]int32, []float32, int) []int32    { return nil }
func (w *Workspace) navigate(context.Context, Options) error { return errNoHNSW }

// overFetch is how many candidates are asked of the library.
const overFetch = 64
