package budget

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Garbage that the process may hold beyond what is live, where that is more than Go's own rule allows: as
// much as is live.
const (
	garbageUnbounded = 128 << 20 // bytes, without a budget
	garbageShare     = 25        // percent of the budget
	mostGarbage      = 400       // percent of what is live, so that a small process stays small
)

// Collect has the garbage collector of the process keep below a budget of bytes, 0 for none, and run less
// often while little is live, until release is called. It leaves alone a percent that the user or the program
// has chosen (GOGC, debug.SetGCPercent), and a memory limit at or below the budget.
func Collect(budget int64) (release func()) {
	restore := func() {}
	if limit := debug.SetMemoryLimit(-1); budget > 0 && budget < limit {
		debug.SetMemoryLimit(budget - budget/10)
		restore = func() { debug.SetMemoryLimit(limit) }
	}
	chosen := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(chosen)
	if os.Getenv("GOGC") != "" || chosen[0].Value.Uint64() != 100 {
		return restore
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		defer debug.SetGCPercent(100)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		live := liveReader()
		for set := 100; ; {
			if percent := collectorPercent(budget, live()); percent != set {
				set = percent
				debug.SetGCPercent(set) // stops all goroutines for some microseconds
			}
			select {
			case <-stop:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		restore()
	}
}

// collectorPercent returns how much garbage there may be before it is collected, in percent of the live
// bytes. With a budget, 0 for none, what is live and garbage together stay below half of it, or Go's own rule
// holds.
func collectorPercent(budget, live int64) int {
	garbage := int64(garbageUnbounded)
	if budget > 0 {
		garbage = budget / 100 * garbageShare
	}
	return int(min(max(100, 100*garbage/max(live, 1)), mostGarbage))
}
