package kernel

import (
	"fmt"
	"log/slog"
	"strings"
)

//go:generate go run -C generate . ..

// version is one implementation of every operation. Callers pass slices of matching lengths.
type version struct {
	name              string
	rows              int // of a tile; blocks are multiples of them
	tileSums, dotSums int // independent partial sums of an inner product, in a tile and alone
	dot               func(a, b []float32) float32
	squaredDistance   func(a, b []float32) float32
	difference        func(out, a, b []float32) float32
	axpy              func(alpha float32, x, y []float32)
	scale             func(alpha float32, x []float32)
	exp               func(out, x []float32)
	threeQuarterPower func(out, x []float32)
	softmax           func(x []float32)
	addRows           func(out []float32, alpha float32, rows *float32, ids []int32, weights *float32)
	relax             relaxation // up to shortRow values; nil: none
	strip             func(out []float32, stride int, a, b []float32, length, d, rows, columns int, add bool)
	accumulate        func(out, weights, rows []float32, n, k, d int)
	outer             func(t *panel, out, rows []float32, n, d int)
	groupMinima       func(minima *[Groups]float32, norms, products []float32)
	below             func(positions []int32, norms, products []float32, limit float32) int
	belowEach         func(positions []int32, norm float32, products, limits []float32) int
	widen             func(out []float32, codes []int16, scale float32) // a multiple of Groups values
	narrow            func(codes []int16, x []float32, by float32)      // likewise
	largest           func(x []float32) float32                         // likewise
	bytes             func(codes []int8, x []float32, by float32) int32 // likewise
	codeProduct       func(a []int16, b []int8) int32                   // a multiple of codesTogether values
	codeProducts      func(out []int32, a []int16, b []int8)            // likewise, of a multiple of rowsTogether rows
	prefetch          func(rows *byte, bytes int, ids []int32)
	transpose         func(to, from *float32, stride, blocks int)
	multiplyAdds      func(rounds int)
	roundFlops        int // operations per round of multiplyAdds
}

// relaxation is Relax.
type relaxation func(row, scores []float32, alpha float32, rows *float32, ids []int32,
	weights *float32) float32

// active is the version in use: this machine's best one that passes its check, unless Use selects another.
var active = best()

// best returns the first version that agrees with the portable one. native lists this machine's
// versions, best first.
func best() version {
	for _, v := range native() {
		err := check(v)
		if err == nil {
			return v
		}
		slog.Warn("a kernel disagrees with the portable one and is not used", "kernel", v.name, "error", err)
	}
	return portable
}

// Name returns the version in use: avx512, avx2, neon or portable.
func Name() string { return active.name }

// Available lists the versions that this machine can run, best first. portable is always the last.
func Available() []string {
	var names []string
	for _, v := range native() {
		names = append(names, v.name)
	}
	return append(names, portable.name)
}

// Use selects a version of Available, or with auto the best one. It must not run concurrently with other
// calls of this package. A version that disagrees with the portable one is an error.
func Use(name string) error {
	switch name {
	case "", "auto":
		active = best()
		return nil
	case portable.name:
		active = portable
		return nil
	}
	for _, v := range native() {
		if v.name != name {
			continue
		}
		if err := check(v); err != nil {
			return fmt.Errorf("kernel %q: %w", name, err)
		}
		active = v
		return nil
	}
	return fmt.Errorf("kernel %q: this machine has auto, %s", name, strings.Join(Available(), ", "))
}
