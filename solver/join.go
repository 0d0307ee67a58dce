package solver

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Rows are the rows of a problem, by their number; a row may be overwritten by the next call.
type Rows struct {
	Dimension int
	Row       func(p int) []float32
}

// RowsOf are the rows of a matrix of d columns.
func RowsOf(values []float32, d int) Rows {
	return Rows{Dimension: d, Row: func(p int) []float32 { return values[p*d : p*d+d] }}
}

// join goes on where the graph says nothing of how clusters belong together: it joins the pair whose joint
// mean adds least to the squared distances of rows to the mean of their cluster, Ward's way, until k are
// left. member is the cluster of each row, of count. It returns the new cluster of each old one, numbered by
// their first.
func join(rows Rows, member []int32, count, k int) []int32 {
	d := rows.Dimension
	sums, size := make([]float64, count*d), make([]float64, count)
	for p, c := range member {
		size[c]++
		sum := sums[int(c)*d : int(c)*d+d]
		for i, v := range rows.Row(p) {
			sum[i] += float64(v)
		}
	}
	means := vector.New(count, d)
	for c := range count {
		row := means.Row(c)
		for i := range row {
			row[i] = float32(sums[c*d+i] / size[c])
		}
	}
	cost := make([]float32, count*count)
	for i := range count {
		for j := range i {
			apart := kernel.SquaredDistance(means.Row(i), means.Row(j))
			cost[i*count+j] = apart * float32(size[i]*size[j]/(size[i]+size[j]))
			cost[j*count+i] = cost[i*count+j]
		}
	}
	into, alive := make([]int32, count), make([]int, count)
	for i := range count {
		into[i], alive[i] = int32(i), i
	}
	least, with := make([]float32, count), make([]int, count) // of a cluster with a later one, and which
	look := func(i int) {
		least[i], with[i] = float32(math.Inf(1)), -1
		for _, j := range alive {
			if v := cost[i*count+j]; j > i && v < least[i] {
				least[i], with[i] = v, j
			}
		}
	}
	for i := range count {
		look(i)
	}
	for len(alive) > k {
		a := alive[0]
		for _, i := range alive {
			if least[i] < least[a] {
				a = i
			}
		}
		b := with[a]
		for _, j := range alive {
			if j != a && j != b {
				grown := (size[a]+size[j])*float64(cost[a*count+j]) + (size[b]+size[j])*float64(cost[b*count+j]) -
					size[j]*float64(cost[a*count+b])
				cost[a*count+j] = float32(grown / (size[a] + size[b] + size[j]))
				cost[j*count+a] = cost[a*count+j]
			}
		}
		size[a] += size[b]
		into[b] = int32(a)
		at, _ := slices.BinarySearch(alive, b)
		alive = slices.Delete(alive, at, at+1)
		for _, i := range alive {
			if i == a || with[i] == a || with[i] == b {
				look(i)
			} else if i < a && cost[i*count+a] < least[i] {
				least[i], with[i] = cost[i*count+a], a
			}
		}
	}
	return numbered(into, alive)
}
