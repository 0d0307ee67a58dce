//go:build amd64 || arm64

package kernel

// tile fills rows of out, stride apart, with inner products over length of the d columns of rows of a and
// groups of rows of b; with add they are added to the values of out.
type tile func(out *float32, stride int, a, b *float32, d, length, groups, add int)

// tiles are a version's tiles of rows x 4, rows x 1, 1 x 4 and 1 x 1. All of them give a product the same bits.
type tiles struct {
	rows                     int
	by4, by1, oneBy4, oneBy1 tile
}

// strip covers rows x columns products with tiles.
func (t tiles) strip(out []float32, stride int, a, b []float32, length, d, rows, columns int, add bool) {
	if rows == 0 || columns == 0 {
		return
	}
	if length == 0 {
		if !add {
			for i := range rows {
				clear(out[i*stride : i*stride+columns])
			}
		}
		return
	}
	// Assembly checks no bounds: these two lines keep it inside its slices.
	_, _ = a[(rows-1)*d+length-1], b[(columns-1)*d+length-1]
	_ = out[(rows-1)*stride+columns-1]
	adding := 0
	if add {
		adding = 1
	}
	fours, whole := columns/4, columns&^3
	i := 0
	for ; i+t.rows <= rows; i += t.rows {
		if fours > 0 {
			t.by4(&out[i*stride], stride, &a[i*d], &b[0], d, length, fours, adding)
		}
		if whole < columns {
			t.by1(&out[i*stride+whole], stride, &a[i*d], &b[whole*d], d, length, columns-whole, adding)
		}
	}
	for ; i < rows; i++ {
		if fours > 0 {
			t.oneBy4(&out[i*stride], stride, &a[i*d], &b[0], d, length, fours, adding)
		}
		if whole < columns {
			t.oneBy1(&out[i*stride+whole], stride, &a[i*d], &b[whole*d], d, length, columns-whole, adding)
		}
	}
}

// weighted adds n weighted rows to rows of out over some of their d columns.
type weighted func(out, weights *float32, k int, rows *float32, d, n, columns int)

// weightedTiles are a version's tiles of weighted sums: of 4 rows of out, or one, and of wide columns, or any number.
type weightedTiles struct {
	wide                                     int
	fourWide, fourNarrow, oneWide, oneNarrow weighted
	add                                      func(alpha float32, x, y []float32) // axpy
}

// accumulate covers k x d sums with tiles. Rows are processed in blocks that stay in the cache while every
// tile passes over them. Each sum adds the rows in their order.
func (s weightedTiles) accumulate(out, weights, rows []float32, n, k, d int) {
	block := max(16, cacheFloats/d)
	columns := d / s.wide * s.wide
	for from := 0; from < n; from += block {
		count := min(block, n-from)
		w, x := weights[from*k:(from+count)*k], rows[from*d:(from+count)*d]
		c := 0
		for ; c+4 <= k; c += 4 {
			if columns > 0 {
				s.fourWide(&out[c*d], &w[c], k, &x[0], d, count, columns)
			}
			if columns < d {
				s.fourNarrow(&out[c*d+columns], &w[c], k, &x[columns], d, count, d-columns)
			}
		}
		for ; c < k; c++ {
			if columns > 0 {
				s.oneWide(&out[c*d], &w[c], k, &x[0], d, count, columns)
			}
			if columns < d {
				s.oneNarrow(&out[c*d+columns], &w[c], k, &x[columns], d, count, d-columns)
			}
		}
	}
}

// outer adds the outer products of rows to the upper triangle of out, panel by panel of columns. Values that it
// writes below the diagonal are undefined.
func (s weightedTiles) outer(t *panel, out, rows []float32, n, d int) {
	width := panelColumns / s.wide * s.wide
	step := (n + panelRows - 1) / panelRows
	step = (n + step - 1) / step // equal panels: none is left with a few rows
	for from := 0; from < n; from += step {
		x := rows[from*d : min(from+step, n)*d]
		count := len(x) / d
		for left := 0; left < d; left += width {
			columns := min(width, d-left)
			for i := range count {
				copy(t.rows[i*panelColumns:], x[i*d+left:i*d+left+columns])
			}
			for c := 0; c < left+columns; c += 4 {
				high := min(4, d-c)
				skip := max(0, c-left) / s.wide * s.wide // columns left of the diagonal, in whole tiles
				sums := t.sums[:(high-1)*panelColumns+columns]
				clear(sums)
				whole := skip + (columns-skip)/s.wide*s.wide
				if high < 4 {
					for r := range high {
						s.oneNarrow(&sums[r*panelColumns+skip], &x[c+r], d, &t.rows[skip], panelColumns, count, columns-skip)
					}
				} else {
					if skip < whole {
						s.fourWide(&sums[skip], &x[c], d, &t.rows[skip], panelColumns, count, whole-skip)
					}
					if whole < columns {
						s.fourNarrow(&sums[whole], &x[c], d, &t.rows[whole], panelColumns, count, columns-whole)
					}
				}
				for r := range high {
					s.add(1, sums[r*panelColumns+skip:r*panelColumns+columns], out[(c+r)*d+left+skip:(c+r)*d+left+columns])
				}
			}
		}
	}
}
