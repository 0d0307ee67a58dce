package budget

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestCollectorPercent(t *testing.T) {
	for _, c := range []struct {
		name         string
		budget, live int64 // MiB
		shares       []float64
		want         int
	}{
		{"nothing measured yet", 0, 0, nil, 400},
		{"little is live", 0, 4, nil, 400},
		{"much is live and little done", 0, 320, []float64{0, .01, 0, .05}, 10},
		{"the collector is busy", 0, 64, []float64{.1}, 100},
		{"at most 128 MiB of garbage", 0, 64, []float64{.1, .1, .1, .1}, 200},
		{"half as much garbage as is live", 0, 1000, []float64{.1, .1, .1, .1, .1, .1, .1}, 50},
		{"it was busy", 0, 64, []float64{.1, .1, .1, .02}, 150},
		{"no collection says nothing", 0, 64, []float64{.1, .1, .1, 0, 0, 0}, 200},
		{"it was busy long ago", 0, 64, []float64{.1, .1, .01, .01, .01, .01, .01, .01, .01}, 50},
		{"a small budget", 200, 40, []float64{.1, .1, .1}, 125},
		{"a quarter of the budget is live", 400, 100, []float64{.1, .1, .1}, 100},
		{"more than the budget is live", 400, 500, []float64{.1, .1, .1, .1, .1, .1}, 50},
		{"a large budget", 4000, 500, []float64{.1, .1, .1, .1, .1, .1}, 200},
	} {
		garbage, live := int64(leastGarbage), c.live<<20
		for _, share := range append([]float64{0}, c.shares...) {
			garbage = nextGarbage(garbage, c.budget<<20, live, share)
		}
		if got := collectorPercent(garbage, live); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.name, got, c.want)
		}
	}
}

// Where other processes take most of the machine, the collector's threads stand still for as long as they work. That is no
// reason for more garbage.
func TestCollectorShareOnABusyMachine(t *testing.T) {
	for _, c := range []struct {
		name                        string
		collector, all, given, wall float64
		want                        float64
	}{
		{"alone, two cores", .1, 2, 2, 1, .05},
		{"alone, a tenth of a core", .02, .1, .1, 1, .02},
		{"others take nine tenths of what it wants", .2, 1, .1, 1, .02},
		{"no collection", 0, 1, 1, 1, 0},
		{"the processor time is not known", .1, 2, 0, 1, .05},
	} {
		if got := collectorShare(c.collector, c.all, c.given, c.wall); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

// The collector's share is that of what the process computes.
func TestCollectorShare(t *testing.T) {
	share := shareReader()
	share()
	for deadline := time.Now().Add(time.Minute); ; {
		runtime.GC()
		if got := share(); got > 0 && got <= 1 {
			return
		} else if got != 0 || time.Now().After(deadline) {
			t.Fatalf("a share of %g after a collection", got)
		}
	}
}

// While a stage runs the collector keeps below its budget and has a percent of the stage's; afterwards the process has its
// own settings again. A percent that somebody chose stays.
func TestCollect(t *testing.T) {
	t.Setenv("GOGC", "")
	percent := func() int {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	limit := debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	release := Collect(1000 << 20)
	if during := debug.SetMemoryLimit(-1); during != min(limit, 900<<20) {
		t.Errorf("the limit is %d", during)
	}
	for deadline := time.Now().Add(time.Minute); percent() == 100; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the collector has no percent of its own")
		}
	}
	release()
	if after := debug.SetMemoryLimit(-1); after != limit || percent() != 100 {
		t.Errorf("the limit is %d afterwards, was %d; %d %%, was 100", after, limit, percent())
	}
	debug.SetGCPercent(150)
	release = Collect(0)
	release()
	if percent() != 150 {
		t.Errorf("a chosen percent of 150 is %d afterwards", percent())
	}
	debug.SetGCPercent(100)
	t.Setenv("GOGC", "100")
	Collect(0)()
	if after := debug.SetMemoryLimit(-1); after != limit || percent() != 100 {
		t.Errorf("the limit is %d afterwards, was %d; %d %%, was 100", after, limit, percent())
	}
}
