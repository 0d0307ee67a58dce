package file

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is how many rows one worker takes at a time. Sums are kept for each chunk and added in order, so that
// no answer depends on the number of cores.
const chunk = 1024

// chunks returns the number of chunks of n rows.
func chunks(n int) int { return (n + chunk - 1) / chunk }

// eachChunk calls do for every chunk of n rows, on all cores: do(i, from, to) gets chunk i, rows [from, to).
func eachChunk(n int, do func(i, from, to int)) {
	eachOf(chunks(n), func(i int) { do(i, i*chunk, min(n, (i+1)*chunk)) })
}

// eachOf calls do for 0 to count-1, on all cores.
func eachOf(count int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), count)
	if workers <= 1 {
		for i := range count {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := int(next.Add(1) - 1); i < count; i = int(next.Add(1) - 1) {
				do(i)
			}
		})
	}
	group.Wait()
}
