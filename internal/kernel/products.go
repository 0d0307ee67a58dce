package kernel

// Chunk is how many columns of a tile are summed before the sum is added to the earlier ones, so that tiles
// of long rows stay in the cache. Chunks depend on the dimension alone, because their ends affect the bits
// of a product.
const Chunk = 1536

const (
	cacheFloats = 48 << 10 // floats of a that stay in the second-level cache
	nearFloats  = 6 << 10  // floats of b that stay in the first-level cache
)

// blocks returns how many rows of a and of b are processed together for rows of length floats.
func blocks(length int) (rows, columns int) {
	step := active.rows
	rows = max(step, cacheFloats/length/step*step)
	columns = max(4, nearFloats/length/4*4)
	return rows, columns
}

func productsInto(out []float32, stride int, a, b []float32, m, n, d int) {
	if d == 0 {
		active.strip(out, stride, a, b, 0, 0, m, n, false)
		return
	}
	rows, columns := blocks(min(d, Chunk))
	for i := 0; i < m; i += rows {
		high := min(rows, m-i)
		for from := 0; from < d; from += Chunk {
			length := min(Chunk, d-from)
			for j := 0; j < n; j += columns {
				active.strip(out[i*stride+j:], stride, a[i*d+from:], b[j*d+from:], length, d, high, min(columns, n-j), from > 0)
			}
		}
	}
}

// gram computes the upper triangle, in whole tiles, and mirrors it.
func gram(out, x []float32, n, d int) {
	if n == 0 {
		return
	}
	if d == 0 {
		clear(out)
		return
	}
	rows, columns := blocks(min(d, Chunk))
	step := active.rows
	for i := 0; i < n; i += rows {
		end := min(i+rows, n)
		for from := 0; from < d; from += Chunk {
			length := min(Chunk, d-from)
			for j := i &^ 3; j < n; j += columns {
				right := min(j+columns, n)
				if j >= end { // right of the diagonal
					active.strip(out[i*n+j:], n, x[i*d+from:], x[j*d+from:], length, d, end-i, right-j, from > 0)
					continue
				}
				for r := i; r < min(end, right); r += step {
					left := max(j, r&^3)
					if left < right {
						active.strip(out[r*n+left:], n, x[r*d+from:], x[left*d+from:], length, d, min(step, end-r), right-left, from > 0)
					}
				}
			}
		}
	}
	mirror(out, n)
}

// mirror copies the upper triangle to the lower one, in blocks of 8 x 8 where they fit.
func mirror(out []float32, n int) {
	const size = 8
	whole := n &^ (size - 1)
	for i := 0; i < n; i += size {
		right := i + size // first block right of the diagonal
		if right < whole {
			active.transpose(&out[right*n+i], &out[i*n+right], n, (whole-right)/size)
		}
		for r := i; r < min(right, n); r++ {
			for c := r + 1; c < min(right, n); c++ {
				out[c*n+r] = out[r*n+c]
			}
			for c := max(right, whole); c < n; c++ {
				out[c*n+r] = out[r*n+c]
			}
		}
	}
}

// Sizes of a panel of outerOf. It stays in the first-level cache. Its width is not a power of two, so that
// rows do not all start in the same cache set.
const (
	panelRows    = 128
	panelColumns = 72
)

// panel is the workspace of an outer product.
type panel struct {
	rows [panelRows * panelColumns]float32
	sums [4 * panelColumns]float32
}
