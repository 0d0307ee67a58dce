package file

import (
	"runtime"

	"github.com/slkstream/slkstream/internal/parallel"
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
	parallel.Each(runtime.GOMAXPROCS(0), count, func(_, i int) { do(i) })
}
