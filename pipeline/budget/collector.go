package budget

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/slkstream/slkstream/internal/telemetry"
)

// The garbage that the process may hold beyond what is live is no more than keeps the collector's part of the
// CPU time that the process takes, or of a core if it takes less, within bounds: much while it works hard, little
// while it holds much and does little.
const (
	leastGarbage     = 32 << 20 // bytes
	garbageUnbounded = 128 << 20
	garbageShare     = 25  // percent of a budget
	mostGarbage      = 400 // percent of what is live, so that a small process stays small

	busyCollector = .06 // of that time: beyond, there may be twice the garbage
	idleCollector = .03 // below, a quarter less
)

// Collect has the garbage collector of the process keep below a budget of bytes, 0 for none, and run as often
// as is cheap, until release is called. It leaves alone a percent that the user or the program has chosen
// (GOGC, debug.SetGCPercent), and a memory limit at or below the budget.
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
		live, share := liveReader(), shareReader()
		garbage := int64(leastGarbage)
		for set := 100; ; {
			now := live()
			garbage = nextGarbage(garbage, budget, now, share())
			if percent := collectorPercent(garbage, now); percent != set {
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

// shareReader returns a function that returns the collector's part of the CPU time since the last call, or of a
// core's if the process took less; 0 if there was no collection since.
func shareReader() func() float64 {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
		{Name: "/cpu/classes/total:cpu-seconds"},
		{Name: "/cpu/classes/idle:cpu-seconds"},
	}
	var before [3]float64
	at := time.Now()
	return func() float64 {
		metrics.Read(samples)
		of := func(i int) float64 { return samples[i].Value.Float64() }
		now := [3]float64{of(0) - of(1), of(2) - of(3), telemetry.Spent().Seconds()}
		wall := time.Since(at).Seconds()
		share := collectorShare(now[0]-before[0], now[1]-before[1], now[2]-before[2], wall)
		before, at = now, at.Add(time.Duration(wall*float64(time.Second)))
		return share
	}
}

// collectorShare returns the collector's part of the CPU time that the process was given, or of a core's if that is less:
// the runtime measures what its threads do by the clock, and on a busy machine most of that is other processes' time, of
// the collector's as of all else. What the collector does on cores that nobody else wants does not count.
func collectorShare(collector, all, given, wall float64) float64 {
	if !(collector > 0 && all > 0) {
		return 0
	}
	if !(given > 0) { // not known
		given = all
	}
	return min(collector/all, 1) * given / max(given, wall)
}

// nextGarbage returns how much garbage there may be from now on, given the collector's share of the CPU time,
// 0 for no collection: a fixed number of bytes at most, or a quarter of a budget, 0 for none, or else half of what is
// live.
func nextGarbage(garbage, budget, live int64, share float64) int64 {
	switch {
	case share > busyCollector:
		garbage *= 2
	case share > 0 && share < idleCollector:
		garbage -= garbage / 4
	}
	most := int64(garbageUnbounded)
	if budget > 0 {
		most = budget / 100 * garbageShare
	}
	return min(max(garbage, leastGarbage), max(most, live/2))
}

// collectorPercent returns the garbage in percent of the live bytes.
func collectorPercent(garbage, live int64) int {
	return int(min(max(1, 100*garbage/max(live, 1)), mostGarbage))
}
