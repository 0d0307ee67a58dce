package solver

import (
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
func join(rows Rows, member []int32, count, k int) ([]int32, int) {
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
	return agglomerate(count, pairs{
		worth:  func(i, j int) float64 { return -float64(cost[i*count+j]) },
		enough: func(clusters int, _ float64) bool { return clusters <= k },
		unite: func(a, b int, others []int) {
			for _, j := range others {
				grown := (size[a]+size[j])*float64(cost[a*count+j]) + (size[b]+size[j])*float64(cost[b*count+j]) -
					size[j]*float64(cost[a*count+b])
				cost[a*count+j] = float32(grown / (size[a] + size[b] + size[j]))
				cost[j*count+a] = cost[a*count+j]
			}
			size[a] += size[b]
		},
	})
}
