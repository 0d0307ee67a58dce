package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// versions returns the portable version and all that this machine can run.
func versions() []version { return append(native(), portable) }

func TestEveryVersionPassesItsCheck(t *testing.T) {
	for _, v := range native() {
		if err := check(v); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
}

func TestUse(t *testing.T) {
	defer func() { active = best() }()
	for _, name := range append(Available(), "auto") {
		if err := Use(name); err != nil {
			t.Fatal(err)
		}
		if name != "auto" && Name() != name {
			t.Errorf("after Use(%q) the name is %q", name, Name())
		}
	}
	if err := Use("sse"); err == nil {
		t.Error("an unknown version is taken")
	}
}

// Prefetch changes nothing and cannot fail, whatever the ids.
func TestPrefetch(t *testing.T) {
	x := uniform(1000, 1)
	before := append([]float32(nil), x...)
	for _, v := range versions() {
		t.Run(v.name, func(t *testing.T) {
			defer func(was version) { active = was }(active)
			active = v
			for _, width := range []int{1, 10, 16, 100, 1000} {
				Prefetch(x, width, []int32{0, 3, -1, 999, 1 << 30, -1 << 31})
				Prefetch(x, width, nil)
				Prefetch(x[:0], width, []int32{0})
			}
			for i, v := range x {
				if v != before[i] {
					t.Fatalf("value %d is %g, was %g", i, v, before[i])
				}
			}
		})
	}
}

// BenchmarkPrefetch sums groups of rows spread over 256 MB, and prefetches three groups ahead.
func BenchmarkPrefetch(b *testing.B) {
	const width, rows, each = 10, 6 << 20, 10
	x := make([]float32, rows*width)
	for i := range x {
		x[i] = 1
	}
	random := rand.New(rand.NewPCG(1, 1))
	ids := make([]int32, 10_000*each)
	for i := range ids {
		ids[i] = int32(random.IntN(rows))
	}
	for _, v := range versions() {
		b.Run(v.name, func(b *testing.B) {
			defer func(was version) { active = was }(active)
			active = v
			sum := make([]float32, width)
			for b.Loop() {
				for i := 0; i < len(ids); i += each {
					if i+4*each < len(ids) {
						Prefetch(x, width, ids[i+3*each:i+4*each])
					}
					for _, id := range ids[i : i+each] {
						for j, v := range x[int(id)*width : int(id)*width+width] {
							sum[j] += v
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ids)), "ns/row")
		})
	}
}

func BenchmarkGram(b *testing.B) {
	for _, n := range []int{100, 1000} {
		for _, d := range []int{64, 128, 512, 1280, 44604} {
			if n*d > 10_000_000 {
				continue
			}
			x := uniform(n*d, 1)
			out := make([]float32, n*n)
			for _, v := range versions() {
				b.Run(fmt.Sprintf("%s/%dx%d", v.name, n, d), func(b *testing.B) {
					defer func(was version) { active = was }(active)
					active = v
					for b.Loop() {
						Gram(out, x, n, d)
					}
					b.ReportMetric(float64(n)*float64(n)*float64(d)*float64(b.N)/1e9/b.Elapsed().Seconds(), "gflop/s")
				})
			}
		}
	}
}

func BenchmarkMultiplyAdds(b *testing.B) {
	var operations float64
	for b.Loop() {
		operations += MultiplyAdds(1000)
	}
	b.ReportMetric(operations/1e9/b.Elapsed().Seconds(), "gflop/s")
}

func BenchmarkProducts(b *testing.B) {
	for _, d := range []int{64, 128, 512, 784} {
		m := 96
		x := uniform(m*d, 1)
		y := uniform(m*d, 1)
		out := make([]float32, m*m)
		b.Run(fmt.Sprint(d), func(b *testing.B) {
			for b.Loop() {
				Products(out, x, y, m, m, d)
			}
			b.ReportMetric(2*float64(m)*float64(m)*float64(d)*float64(b.N)/1e9/b.Elapsed().Seconds(), "gflop/s")
		})
	}
}

// uniform draws n numbers from -1 to 1.
func uniform(n int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*random.Float32() - 1
	}
	return x
}

func TestLargest(t *testing.T) {
	defer func(was version) { active = was }(active)
	for _, v := range versions() {
		active = v
		for _, n := range []int{0, 1, 15, 16, 17, 48, 53} {
			x := uniform(n, 1)
			for at := range x {
				was := x[at]
				for _, set := range []float32{-3, 3, float32(math.Inf(-1))} {
					x[at] = set
					if got := Largest(x); got != float32(math.Abs(float64(set))) {
						t.Fatalf("%s: %g of %d values with %g at %d", v.name, got, n, set, at)
					}
				}
				if x[at] = float32(math.NaN()); !math.IsNaN(float64(Largest(x))) {
					t.Fatalf("%s: %g with NaN at %d of %d", v.name, Largest(x), at, n)
				}
				x[at] = was
			}
		}
		if got := Largest(nil); got != 0 {
			t.Errorf("%s: %g of nothing", v.name, got)
		}
	}
}
