package budget

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestCollectorPercent(t *testing.T) {
	for _, c := range []struct {
		name         string
		budget, live int64 // MiB
		want         int
	}{
		{"nothing measured yet", 0, 0, 400},
		{"no budget, little is live", 0, 10, 400},
		{"no budget, at most 128 MiB of garbage", 0, 64, 200},
		{"no budget, much is live", 0, 1000, 100},
		{"a small budget", 200, 30, 166},
		{"a quarter of the budget is live", 400, 100, 100},
		{"more than the budget is live", 400, 500, 100},
		{"a large budget", 4000, 500, 200},
	} {
		if got := collectorPercent(c.budget<<20, c.live<<20); got != c.want {
			t.Errorf("%s: %d %%, want %d", c.name, got, c.want)
		}
	}
}

// While a stage runs the collector keeps below its budget and waits longer; afterwards the process has its
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
	for deadline := time.Now().Add(time.Minute); percent() <= 100; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the collector does not wait longer")
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
