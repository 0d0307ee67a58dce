package kernel

import (
	"fmt"
	"math"
)

// check runs every operation of v on small inputs, with every length of tail, and compares the results with
// the portable version's. It keeps a processor whose instructions do not do what its feature flags promise
// from producing wrong labels, and takes some tens of microseconds.
func check(v version) error {
	const most = 37
	var a, b, got, want [4 * most]float32
	state := uint32(1)
	for i := range a {
		a[i], b[i] = drawn(&state), drawn(&state)
	}
	for _, n := range []int{1, 7, 16, most} {
		if g, w := v.dot(a[:n], b[:n]), portable.dot(a[:n], b[:n]); far(g, w) {
			return fmt.Errorf("inner product of %d values: %g, not %g", n, g, w)
		}
		if g, w := v.squaredDistance(a[:n], b[:n]), portable.squaredDistance(a[:n], b[:n]); far(g, w) {
			return fmt.Errorf("squared distance of %d values: %g, not %g", n, g, w)
		}
		for _, operation := range []struct {
			name string
			run  func(v version, out []float32)
		}{
			{"difference", func(v version, out []float32) { out[most] = v.difference(out[:n], a[:n], b[:n]) }},
			{"axpy", func(v version, out []float32) { v.axpy(a[0], b[:n], out[:n]) }},
			{"scale", func(v version, out []float32) { v.scale(b[0], out[:n]) }},
			{"power", func(v version, out []float32) { v.threeQuarterPower(out[:n], a[:n]) }},
			{"exp", func(v version, out []float32) { v.exp(out[:n], a[:n]) }},
			{"softmax", func(v version, out []float32) { v.softmax(out[:n]) }},
			{"weighted rows by id", func(v version, out []float32) {
				v.addRows(out[:n], b[0], &b[0], []int32{2, 0, 1}[:n%4], &a[0])
			}},
			{"relaxed row", func(v version, out []float32) {
				if k := min(n, shortRow); v.relax != nil {
					v.relax(out[:k], b[:k], a[0], &b[0], []int32{2, 0, 1}[:n%4], &a[0])
				} else {
					copy(out, b[:k])
					v.addRows(out[:k], a[0], &b[0], []int32{2, 0, 1}[:n%4], &a[0])
					v.softmax(out[:k])
				}
			}},
			{"products", func(v version, out []float32) { v.strip(out, 5, a[:], b[:], min(n, 17), 17, 5, 5, false) }},
			{"added products", func(v version, out []float32) { v.strip(out, 5, a[:], b[:], min(n, 17), 17, 5, 5, true) }},
			{"narrowed and widened", func(v version, out []float32) {
				var codes [4 * most]int16
				some := len(codes) &^ (Groups - 1)
				v.narrow(codes[:some], a[:some], 1<<15-1)
				v.widen(out[:some], codes[:some], b[0]/(1<<15-1))
			}},
			{"largest and bytes", func(v version, out []float32) {
				var codes [4 * most]int8
				some := len(codes) &^ (Groups - 1)
				out[some] = float32(v.bytes(codes[:some], a[:some], (1<<7-1)/v.largest(b[:some])))
				for i, code := range codes[:some] {
					out[i] = float32(code)
				}
			}},
			{"product of codes", func(v version, out []float32) {
				var first [codesTogether]int16
				var second [codesTogether]int8
				portable.narrow(first[:], a[:codesTogether], float32(n))
				portable.bytes(second[:], b[:codesTogether], (1<<7-1)/portable.largest(b[:]))
				out[0] = float32(v.codeProduct(first[:], second[:]))
				var rows [rowsTogether * codesTogether]int16
				for i := range rows {
					rows[i] = first[(i+i/codesTogether)%codesTogether]
				}
				var products [rowsTogether]int32
				v.codeProducts(products[:], rows[:], second[:])
				for i, x := range products {
					out[1+i] = float32(x)
				}
			}},
			{"transpose", func(v version, out []float32) { v.transpose(&out[0], &a[0], 9+n%3, 1) }},
			{"weighted rows", func(v version, out []float32) {
				v.accumulate(out[:5*min(n, 29)], a[:15], b[:3*min(n, 29)], 3, 5, min(n, 29))
			}},
			{"outer products", func(v version, out []float32) {
				d := min(n, 12)
				v.outer(new(panel), out[:d*d], b[:3*d], 3, d)
				for i := range d {
					clear(out[i*d : i*d+i]) // values below the diagonal are undefined
				}
			}},
		} {
			copy(got[:], a[:])
			copy(want[:], a[:])
			operation.run(v, got[:])
			operation.run(portable, want[:])
			for i := range got {
				if far(got[i], want[i]) {
					return fmt.Errorf("%s of %d values: %g at %d, not %g", operation.name, n, got[i], i, want[i])
				}
			}
		}
	}
	return checkScans(v, a[:], b[:])
}

// checkScans compares the scans, whose results are exact.
func checkScans(v version, norms, products []float32) error {
	n := len(products) &^ (Groups - 1)
	var got, want [Groups]float32
	for g := range got {
		got[g], want[g] = math.MaxFloat32, math.MaxFloat32
	}
	v.groupMinima(&got, norms[:n], products[:n])
	portable.groupMinima(&want, norms[:n], products[:n])
	if got != want {
		return fmt.Errorf("group minima: %g, not %g", got, want)
	}
	positions, right := make([]int32, n), make([]int32, n)
	for i, scan := range []func(v version, positions []int32) int{
		func(v version, positions []int32) int { return v.below(positions, norms[:n], products[:n], 0) },
		func(v version, positions []int32) int { return v.belowEach(positions, .1, products[:n], norms[:n]) },
	} {
		found, expected := scan(v, positions), scan(portable, right)
		for j := range min(found, expected) {
			if positions[j] != right[j] {
				return fmt.Errorf("scan %d: position %d, not %d", i, positions[j], right[j])
			}
		}
		if found != expected {
			return fmt.Errorf("scan %d: %d positions, not %d", i, found, expected)
		}
	}
	return nil
}

// drawn returns the next of a fixed sequence of numbers from -1 to 1.
func drawn(state *uint32) float32 {
	*state = *state*1664525 + 1013904223
	return float32(int32(*state)) / (1 << 31)
}

// far says whether two results differ by more than rounding explains on the small inputs of check.
func far(got, want float32) bool {
	return !(math.Abs(float64(got-want)) <= 1e-5*(1+math.Abs(float64(want))))
}
