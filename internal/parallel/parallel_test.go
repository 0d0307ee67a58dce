package parallel

import (
	"sync/atomic"
	"testing"
)

// Every item is worked on once, by a worker of its number, whatever the number of workers.
func TestEachItemOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 3, 200} {
		for _, count := range []int{0, 1, 100} {
			seen := make([]atomic.Int32, count)
			Each(workers, count, func(worker, item int) {
				if worker < 0 || worker >= max(1, min(workers, count)) {
					t.Errorf("worker %d of %d", worker, workers)
				}
				seen[item].Add(1)
			})
			for item := range seen {
				if n := seen[item].Load(); n != 1 {
					t.Errorf("%d workers: item %d of %d done %d times", workers, item, count, n)
				}
			}
		}
	}
}
