package labels

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Names that are forgotten are not compared with every name that was given.
func TestManyNamesAreForgotten(t *testing.T) {
	bytes := func(n int) uint64 {
		list := make([]*Record, 0, 2*n)
		add := func(name record.Name) {
			r := &Record{Label: record.Label{Name: &name}, Offset: int64(len(list)), Written: time.Unix(1, 0)}
			list = append(list, r)
		}
		for i := range n {
			add(record.Name{Name: fmt.Sprint("cluster-", i), Into: fmt.Sprint("name ", i)})
		}
		for i := range n {
			add(record.Name{Name: fmt.Sprint("name ", n/2+i)})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		made := newNaming(list)
		runtime.ReadMemStats(&after)
		if want := n + n/2; len(made.resets) != want {
			t.Errorf("%d resets, not %d", len(made.resets), want)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	bytes(10)
	if one, four := bytes(250), bytes(1000); four > 8*one {
		t.Errorf("250 names take %d bytes, four times as many %d", one, four)
	}
}
