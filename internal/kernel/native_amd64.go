package kernel

import "golang.org/x/sys/cpu"

// native lists the versions that this machine can run, best first.
func native() []version {
	var list []version
	x := cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX2 && x.HasFMA && x.HasBMI1 && x.HasBMI2 {
		list = append(list, version{
			name: "avx512", rows: 4, tileSums: 16, dotSums: 64, dot: avx512Dot, squaredDistance: avx512SquaredDistance,
			difference: avx512Difference, axpy: avx512Axpy, scale: avx512Scale,
			exp: avx512Exp, threeQuarterPower: avx512ThreeQuarterPower, softmax: avx512Softmax,
			addRows: avx512AddRows, relax: avx512Relax, strip: avx512Tiles.strip, accumulate: avx512Sums.accumulate, outer: avx512Sums.outer, groupMinima: avx512GroupMinima, below: avx512Below, belowEach: avx512BelowEach, widen: avx512Widen, narrow: avx512Narrow, largest: avx512Largest, bytes: avx512Bytes, codeProduct: avx512CodeProduct, codeProducts: avx512CodeProducts, prefetch: avx512Prefetch, transpose: avx512Transpose,
			multiplyAdds: avx512MultiplyAdds, roundFlops: 12 * 16 * 2,
		})
	}
	if x.HasAVX2 && x.HasFMA && x.HasBMI1 {
		list = append(list, version{
			name: "avx2", rows: 3, tileSums: 8, dotSums: 32, dot: avx2Dot, squaredDistance: avx2SquaredDistance,
			difference: avx2Difference, axpy: avx2Axpy, scale: avx2Scale,
			exp: avx2Exp, threeQuarterPower: avx2ThreeQuarterPower, softmax: avx2Softmax,
			addRows: avx2AddRows, relax: avx2Relax, strip: avx2Tiles.strip, accumulate: avx2Sums.accumulate, outer: avx2Sums.outer, groupMinima: avx2GroupMinima, below: avx2Below, belowEach: avx2BelowEach, widen: avx2Widen, narrow: avx2Narrow, largest: avx2Largest, bytes: avx2Bytes, codeProduct: avx2CodeProduct, codeProducts: avx2CodeProducts, prefetch: avx2Prefetch, transpose: avx2Transpose,
			multiplyAdds: avx2MultiplyAdds, roundFlops: 12 * 8 * 2,
		})
	}
	return list
}

var (
	avx512Tiles = tiles{4, avx512Strip4x4, avx512Strip4x1, avx512Strip1x4, avx512Strip1x1}
	avx2Tiles   = tiles{3, avx2Strip3x4, avx2Strip3x1, avx2Strip1x4, avx2Strip1x1}
	avx512Sums  = weightedTiles{
		64, avx512Accumulate4x4, avx512Accumulate4x1, avx512Accumulate1x4, avx512Accumulate1x1, avx512Axpy,
	}
	avx2Sums = weightedTiles{24, avx2Accumulate4x3, avx2Accumulate4x1, avx2Accumulate1x3, avx2Accumulate1x1, avx2Axpy}
)
