package kernel

// native lists the versions that this machine can run. Every arm64 processor has NEON.
func native() []version {
	return []version{{
		name: "neon", rows: 4, tileSums: 4, dotSums: 16, dot: neonDot, squaredDistance: neonSquaredDistance,
		difference: neonDifference, axpy: neonAxpy, scale: neonScale, exp: neonExp,
		threeQuarterPower: neonThreeQuarterPower, softmax: neonSoftmax,
		addRows: portableAddRows, strip: neonTiles.strip, accumulate: neonSums.accumulate, outer: neonSums.outer, groupMinima: neonGroupMinima, below: neonBelow,
		belowEach: neonBelowEach, widen: neonWiden, narrow: neonNarrow, largest: neonLargest, bytes: neonBytes, codeProduct: neonCodeProduct, codeProducts: neonCodeProducts, prefetch: neonPrefetch, transpose: portableTranspose, multiplyAdds: neonMultiplyAdds, roundFlops: 12 * 4 * 2,
	}}
}

// neonSoftmax computes the exponentials in assembly.
func neonSoftmax(x []float32) { softmaxBy(neonExp, x) }

// neonCodeProducts takes row by row.
func neonCodeProducts(out []int32, a []int16, b []int8) { codeProductsBy(neonCodeProduct, out, a, b) }

var (
	neonTiles = tiles{4, neonStrip4x4, neonStrip4x1, neonStrip1x4, neonStrip1x1}
	neonSums  = weightedTiles{16, neonAccumulate4x4, neonAccumulate4x1, neonAccumulate1x4, neonAccumulate1x1, neonAxpy}
)
