// Package parallel runs blocks of work on several goroutines.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Each calls do for the items 0 to count-1, started in order, on at most so many workers, which it numbers
// from 0 on. A single one is the caller, so that nothing is started.
func Each(workers, count int, do func(worker, item int)) {
	if workers = min(workers, count); workers <= 1 {
		for item := range count {
			do(0, item)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for item := int(next.Add(1) - 1); item < count; item = int(next.Add(1) - 1) {
				do(worker, item)
			}
		})
	}
	group.Wait()
}
