package solver

import "math"

// sparseWidthLargest returns the sparseWidth-th largest of values, which must hold at least as many.
func sparseWidthLargest(values []float32) float32 {
	if len(values) <= 2*sparseWidth {
		var keys [2 * sparseWidth]int32
		n := copyKeys(&keys, values)
		for i := n; i < len(keys); i++ {
			keys[i] = math.MinInt32
		}
		return unkeyed(smallestKey(&keys, sparseWidth+1))
	}
	var top [sparseWidth]float32 // descending
	for i, v := range values {
		at := min(i, sparseWidth-1)
		if i >= sparseWidth && v <= top[at] {
			continue
		}
		for ; at > 0 && top[at-1] < v; at-- {
			top[at] = top[at-1]
		}
		top[at] = v
	}
	return top[sparseWidth-1]
}

// copyKeys writes integers in the same order as the values, and returns their number.
func copyKeys(keys *[2 * sparseWidth]int32, values []float32) int {
	for i, v := range values {
		bits := int32(math.Float32bits(v))
		keys[i&(2*sparseWidth-1)] = bits ^ bits>>31&math.MaxInt32
	}
	return len(values)
}

// unkeyed returns the value of a key.
func unkeyed(key int32) float32 { return math.Float32frombits(uint32(key ^ key>>31&math.MaxInt32)) }

// smallest returns the r-th smallest of 16 values, counted from 1.
func smallest(values *[2 * sparseWidth]float32, r int) float32 {
	var keys [2 * sparseWidth]int32
	copyKeys(&keys, values[:])
	return unkeyed(smallestKey(&keys, r))
}

// smallestKey returns the r-th smallest of 16 keys, which it reorders. It sorts both halves by a sorting
// network, which has no branches to mispredict. i of one half and r - i of the other are the r smallest where
// the larger of their last is least.
func smallestKey(keys *[2 * sparseWidth]int32, r int) int32 {
	low, high := (*[8]int32)(keys[:8]), (*[8]int32)(keys[8:])
	sort8(low)
	sort8(high)
	least := int32(math.MaxInt32)
	for i := max(1, r-8); i <= min(8, r-1); i++ {
		least = min(least, max(low[i-1], high[r-i-1]))
	}
	if r <= 8 {
		least = min(least, low[r-1], high[r-1])
	}
	return least
}

// sort8 sorts ascending: Batcher's network of 19 exchanges.
func sort8(k *[8]int32) {
	a, b, c, d, e, f, g, h := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7]
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	e, f = min(e, f), max(e, f)
	g, h = min(g, h), max(g, h)
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	e, g = min(e, g), max(e, g)
	f, h = min(f, h), max(f, h)
	b, c = min(b, c), max(b, c)
	f, g = min(f, g), max(f, g)
	a, e = min(a, e), max(a, e)
	b, f = min(b, f), max(b, f)
	c, g = min(c, g), max(c, g)
	d, h = min(d, h), max(d, h)
	c, e = min(c, e), max(c, e)
	d, f = min(d, f), max(d, f)
	b, c = min(b, c), max(b, c)
	d, e = min(d, e), max(d, e)
	f, g = min(f, g), max(f, g)
	k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7] = a, b, c, d, e, f, g, h
}
