package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// shape is one case of the comparison: lengths, and each slice's offset from an aligned address.
type shape struct {
	m, n, d, offset int
	seed            uint64
	spread          float64 // exponent: values range from 10^-spread to 10^spread
	exactly         bool    // results must agree to the bit
}

func FuzzVersionsAgree(f *testing.F) {
	for _, s := range []shape{{1, 1, 1, 0, 1, 0, false}, {3, 4, 8, 1, 2, 0, false}, {4, 4, 16, 3, 3, 1, false}, {7, 9, 33, 5, 4, 2, false}, {13, 21, 130, 7, 5, 0, false}, {2, 3, 1300, 15, 6, 3, false}, {5, 5, 0, 0, 7, 0, false}} {
		f.Add(uint8(s.m), uint8(s.n), uint16(s.d), uint8(s.offset), s.seed, s.spread)
	}
	f.Fuzz(func(t *testing.T, m, n uint8, d uint16, offset uint8, seed uint64, spread float64) {
		if !(spread >= 0 && spread <= 6) {
			spread = 0
		}
		s := shape{m: int(m % 40), n: int(n % 40), d: int(d % 2100), offset: int(offset % 32), seed: seed, spread: spread}
		for _, v := range native() {
			if err := s.agrees(v); err != nil {
				t.Fatalf("%s, %+v: %v", v.name, s, err)
			}
		}
	})
}

// TestVersionsAgreeForEveryLengthAndAlignment covers all short lengths and offsets.
func TestVersionsAgreeForEveryLengthAndAlignment(t *testing.T) {
	for _, v := range native() {
		for d := range 130 {
			for _, offset := range []int{0, 1, 2, 3, 5, 7, 8, 13} {
				s := shape{1 + d%9, 1 + (d*7+offset)%11, d, offset, uint64(d), float64(d % 4), false}
				if err := s.agrees(v); err != nil {
					t.Fatalf("%s, %+v: %v", v.name, s, err)
				}
			}
		}
	}
}

// guarded returns n values drawn from seed, offset floats into their array. The rest of the array is NaN,
// which no operation may read into its result or overwrite.
func (s shape) guarded(n int, seed uint64) (values, whole []float32) {
	whole = make([]float32, s.offset+n+32)
	for i := range whole {
		whole[i] = float32(math.NaN())
	}
	values = whole[s.offset : s.offset+n : s.offset+n]
	copy(values, uniform(n, s.seed+seed))
	for i := range values {
		values[i] *= float32(math.Pow(10, s.spread*math.Sin(float64(i))))
	}
	return values, whole
}

// agrees runs every operation in v and in the portable version on the same values.
func (s shape) agrees(v version) error { return s.agreesWith(v, portable) }

// agreesWith runs every operation in v and in another version on the same values.
func (s shape) agreesWith(v, other version) error {
	was := active
	defer func() { active = was }()
	a, _ := s.guarded(s.m*s.d, 1)
	b, _ := s.guarded(s.n*s.d, 2)
	alpha := uniform(1, s.seed)[0]
	length := min(len(a), len(b))
	type result struct {
		name    string
		values  []float32
		scale   func(i int) float64 // magnitude of the summed terms, for the rounding error
		exactly bool
	}
	run := func(v version) (results []result, err error) {
		active = v
		keep := func(name string, n int, exactly bool, scale func(i int) float64, operation func(out []float32)) {
			out, whole := s.guarded(n, 3)
			operation(out)
			for i, w := range whole {
				if (i < s.offset || i >= s.offset+n) && w == w {
					err = fmt.Errorf("%s wrote outside its slice, at %d of %d", name, i-s.offset, n)
				}
			}
			results = append(results, result{name, out, scale, exactly})
		}
		one := func(int) float64 { return 0 }
		// summed is the tolerance of a sum of positive terms, which rounds once per term; the sum itself is in out.
		summed := func(out []float32, terms int) func(int) float64 {
			return func(i int) float64 { return math.Abs(float64(out[i])) * float64(terms) / 32 }
		}
		sizes := func(x, y []float32) float64 { return norm(x) * norm(y) }
		keep(
			"dot",
			1,
			false,
			func(int) float64 { return sizes(a[:length], b[:length]) },
			func(out []float32) { out[0] = Dot(a[:length], b[:length]) },
		)
		apart := make([]float32, 1)
		keep("squared distance", 1, false, summed(apart, length), func(out []float32) {
			out[0] = SquaredDistance(a[:length], b[:length])
			apart[0] = out[0]
		})
		square := make([]float32, 1)
		keep("difference", length, true, one, func(out []float32) {
			square[0] = Difference(out, a[:length], b[:length])
		})
		keep("squared difference", 1, false, summed(square, length), func(out []float32) { out[0] = square[0] })
		keep(
			"axpy",
			length,
			false,
			func(i int) float64 { return math.Abs(float64(alpha*a[i])) + math.Pow(10, s.spread) },
			func(out []float32) { Axpy(alpha, a[:length], out) },
		)
		keep("scale", length, true, one, func(out []float32) { Scale(alpha, out) })
		keep("power", length, true, one, func(out []float32) { ThreeQuarterPower(out, a[:length]) })
		keep("exp", length, false, one, func(out []float32) { Exp(out, a[:length]) })
		parts := make([]float32, length)
		keep("softmax", length, false, summed(parts, length), func(out []float32) { Softmax(out); copy(parts, out) })
		keep(
			"products",
			s.m*s.n,
			false,
			func(i int) float64 { return sizes(row(a, i/s.n, s.d), row(b, i%s.n, s.d)) },
			func(out []float32) { Products(out, a, b, s.m, s.n, s.d) },
		)
		keep("gram", s.m*s.m, false, func(i int) float64 { return sizes(row(a, i/s.m, s.d), row(a, i%s.m, s.d)) }, func(out []float32) {
			Gram(out, a, s.m, s.d)
			for i := range s.m {
				for j := range i {
					if out[i*s.m+j] != out[j*s.m+i] {
						err = fmt.Errorf("gram is not symmetric at %d, %d", i, j)
					}
				}
			}
		})
		// s.n rows of d values in s.m classes.
		weights, _ := s.guarded(s.n*s.m, 4)
		keep("accumulate", s.m*s.d, false, func(i int) float64 {
			sum := math.Pow(10, s.spread)
			for r := range s.n {
				sum += math.Abs(float64(weights[r*s.m+i/s.d]) * float64(b[r*s.d+i%s.d]))
			}
			return sum
		}, func(out []float32) { Accumulate(out, weights, b, s.n, s.m, s.d) })
		ids := make([]int32, s.n*2)
		for j := range ids {
			ids[j] = int32((j*7 + int(s.seed%97)) % max(1, s.n))
		}
		many, _ := s.guarded(len(ids), 5)
		keep("rows by id", s.d, false, func(i int) float64 {
			sum := math.Pow(10, s.spread)
			for j, id := range ids {
				sum += math.Abs(float64(alpha) * float64(many[j]) * float64(b[int(id)*s.d+i]))
			}
			return sum
		}, func(out []float32) { AddRows(out, alpha, b, ids, many) })
		relaxed := make([]float32, s.d)
		keep("relaxed row", s.d, false, summed(relaxed, 32*(1+len(ids))), func(out []float32) {
			rows, before, scores := uniform(s.n*s.d, s.seed+7), slices.Clone(out), uniform(s.d, s.seed+6)
			change := Relax(out, scores, alpha, rows, ids, uniform(len(ids), s.seed+8))
			copy(relaxed, out)
			var sum float64
			for j, v := range out {
				sum += math.Abs(float64(v - before[j]))
			}
			if math.Abs(sum-float64(change)) > 1e-5*sum {
				err = fmt.Errorf("relax: a change of %g, not %g", change, sum)
			}
		})
		side := min(s.d, 130)
		keep("outer products", side*side, false, func(i int) float64 {
			sum := math.Pow(10, s.spread)
			for r := range s.n {
				sum += math.Abs(float64(b[r*side+i/side]) * float64(b[r*side+i%side]))
			}
			return sum
		}, func(out []float32) { AddOuter(out, b[:s.n*side], s.n, side); Mirror(out, side) })
		minima := [Groups]float32{}
		GroupMinima(&minima, b, b)
		keep("group minima", Groups, true, one, func(out []float32) { copy(out, minima[:]) })
		codes := make([]int16, length)
		Narrow(codes, a[:length], float32(32767*math.Pow(10, -s.spread)))
		keep("narrowed and widened", length, true, one, func(out []float32) { Widen(out, codes, alpha) })
		keep("largest", 1, true, one, func(out []float32) { out[0] = Largest(a[:length]) })
		keep("as bytes", length+1, true, one, func(out []float32) {
			codes := make([]int8, length)
			out[length] = float32(Bytes(codes, a[:length], 127/Largest(a[:length])))
			for j, code := range codes {
				out[j] = float32(code)
			}
		})
		keep("product of codes", 1, true, one, func(out []float32) {
			first, second := make([]int16, length), make([]int8, length)
			Narrow(first, a[:length], (1<<11-1)/max(1e-30, Largest(a[:length])))
			Bytes(second, b[:length], (1<<7-1)/max(1e-30, Largest(b[:length])))
			out[0] = float32(CodeProduct(first, second))
		})
		keep("products of codes", 6, true, one, func(out []float32) {
			d := min(128, length/6&^63)
			if d == 0 {
				d = length / 6
			}
			rows, with, products := make([]int16, 6*d), make([]int8, d), make([]int32, 6)
			Narrow(rows, a[:6*d], (1<<11-1)/max(1e-30, Largest(a[:6*d])))
			Bytes(with, b[:d], (1<<7-1)/max(1e-30, Largest(b[:d])))
			CodeProducts(products, rows, with)
			for i, x := range products {
				out[i] = float32(x)
			}
		})
		for _, scan := range []func(positions []int32) int{
			func(positions []int32) int { return Below(positions, a[:length], b[:length], alpha) },
			func(positions []int32) int { return BelowEach(positions, alpha, a[:length], b[:length]) },
		} {
			positions := make([]int32, length)
			found := scan(positions)
			keep("scan", length+1, true, one, func(out []float32) {
				clear(out)
				out[length] = float32(found)
				for j, p := range positions[:found] {
					out[j] = float32(p)
				}
			})
		}
		return results, err
	}
	got, err := run(v)
	if err != nil {
		return err
	}
	want, err := run(other)
	if err != nil {
		return fmt.Errorf("%s: %w", other.name, err)
	}
	for r := range got {
		for i, g := range got[r].values {
			w := want[r].values[i]
			if g == w || g != g && w != w {
				continue
			}
			tolerance := 2e-6 * (math.Abs(float64(w)) + got[r].scale(i))
			if s.exactly || got[r].exactly || !(math.Abs(float64(g)-float64(w)) <= tolerance+1e-37) {
				return fmt.Errorf("%s: %g at %d, %s %g", got[r].name, g, i, other.name, w)
			}
		}
	}
	return nil
}

func row(x []float32, i, d int) []float32 { return x[i*d : i*d+d] }

func norm(x []float32) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// TestProductsKeepTheirBits checks that products have the same bits for any position of their rows and
// any tile size.
func TestProductsKeepTheirBits(t *testing.T) {
	defer func(was version) { active = was }(active)
	for _, v := range versions() {
		active = v
		for _, d := range []int{1, 5, 8, 31, 64, 100, 1536, 1537, 3500} {
			m, n := 11, 14
			a, b := uniform(m*d, 1), uniform(n*d, 2)
			all := make([]float32, m*n)
			Products(all, a, b, m, n, d)
			var one [1]float32
			for i := range m {
				for j := range n {
					Products(one[:], row(a, i, d), row(b, j, d), 1, 1, d)
					if one[0] != all[i*n+j] {
						t.Fatalf("%s: product %d, %d of length %d is %g in its tile and %g alone", v.name, i, j, d, all[i*n+j], one[0])
					}
				}
			}
			g := make([]float32, m*m)
			Gram(g, a, m, d)
			Products(all[:m*m], a, a, m, m, d)
			for i := range g {
				if g[i] != all[i] {
					t.Fatalf("%s: gram and products differ at %d for length %d", v.name, i, d)
				}
			}
		}
	}
}

func TestExp(t *testing.T) {
	defer func(was version) { active = was }(active)
	infinity := float32(math.Inf(1))
	for _, v := range versions() {
		active = v
		var worst float64
		for x := float32(-87.3); x < 88.7; x += .00371 {
			in := []float32{x}
			Exp(in, in)
			worst = max(worst, math.Abs(float64(in[0])/math.Exp(float64(x))-1))
		}
		if worst > 4e-7 {
			t.Errorf("%s: relative error %g", v.name, worst)
		}
		ends := []float32{-infinity, -1e30, -200, infinity, 1e30, 89, 0, -100, float32(math.NaN())}
		want := []float32{0, 0, 0, infinity, infinity, infinity, 1, float32(math.Exp(-100))}
		Exp(ends, ends)
		for i, w := range want {
			if ends[i] != w && math.Abs(float64(ends[i]-w)) > 2e-45 {
				t.Errorf("%s: exponential %d is %g, not %g", v.name, i, ends[i], w)
			}
		}
		if last := ends[len(ends)-1]; last == last {
			t.Errorf("%s: the exponential of NaN is %g", v.name, last)
		}
	}
}

func TestSoftmaxOfLargeValues(t *testing.T) {
	x := []float32{1e30, 1e30, -1e30}
	Softmax(x)
	if x[0] != .5 || x[1] != .5 || x[2] != 0 {
		t.Errorf("softmax is %g", x)
	}
	Softmax(nil)
}
