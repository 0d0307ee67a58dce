package index

import (
	"context"
	"runtime"
	"testing"
)

// TestAnAnswerKeepsOnlyItself: the result of Build keeps the memory of the lists alone, not that
// of the search.
func TestAnAnswerKeepsOnlyItself(t *testing.T) {
	const n, d, rho = 20_000, 8, 5
	rows := clustered(n, d, 200, .5, 1)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	lists, err := Build(context.Background(), rows, n, d, Options{Rho: rho, Method: "descent"})
	if err != nil {
		t.Fatal(err)
	}
	if kept := int64(heap() - before); kept > 2*8*n*rho {
		t.Errorf("%d bytes are kept for %d lists of %d", kept, n, rho)
	}
	runtime.KeepAlive(lists)
	runtime.KeepAlive(rows)
}
