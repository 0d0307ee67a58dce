package file

import "fmt"

// Plan says how a problem is solved within the given memory.
type Plan struct {
	Rows, Dimension int
	Bytes           int64   // estimate for rows, graph and answers
	Peak            int64   // estimate of all memory at its peak
	Limit           int64   // of Bytes; 0: no limit
	Code            int     // principal directions kept of each row, one byte each; 0: float32
	Directions      int     // principal directions kept of each row as float32; 0: codes, whole rows, unknown
	Recall          float64 // share of a row's neighbours that directions keep; 0: whole rows, unknown
	vectors         bool    // what class vectors say of each row is kept
}

func (p Plan) String() string {
	kept, recall := "", ""
	switch {
	case p.Code > 0:
		kept = fmt.Sprintf(" as codes of %d bytes", p.Code)
	case p.Directions > 0:
		kept = fmt.Sprintf(" in %d principal directions", p.Directions)
	}
	if p.Recall > 0 {
		recall = fmt.Sprintf(", which keep %.0f %% of the neighbours of a row,", 100*p.Recall)
	}
	return fmt.Sprintf("%d rows of dimension %d%s%s in one solve: about %s, and %s at its height", p.Rows, p.Dimension, kept,
		recall, Size(p.Bytes), Size(p.Peak))
}

// Size formats a number of bytes for people, rounded up: in MiB from 10 MiB on, else in KiB.
func Size(bytes int64) string {
	if bytes < 10<<20 {
		return fmt.Sprintf("%d KiB", (bytes+1<<10-1)>>10)
	}
	return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20)
}

// Least and largest number of directions in a code.
const (
	leastCode = 16
	mostCode  = 256
)

// Bytes that the work takes for each row.
const (
	lists     = 8 * listed         // of neighbours
	spreadOn  = 8 * 3 * listed / 2 // the graph that labels are spread over
	searching = 320                // the search for neighbours, beside the rows and its answer
	sketches  = 144                // its longer lists for rows of many dimensions
	solving   = 300                // both graphs while they are made, and the answers
)

// matrices of dimension x dimension float32 are held while the metric or principal directions are learned.
const matrices = 2

// square is what these matrices take.
func (p *Plan) square() int64 { return matrices * 4 * int64(p.Dimension) * int64(p.Dimension) }

// sketchedFrom is the dimension from which on the search sketches rows.
const sketchedFrom = 256

// unknownClusters is the number of clusters for which memory is planned until the graph decides it.
const unknownClusters = 50

// size fills in the bytes of a plan.
func (p *Plan) size(n, k int) {
	if k == 0 {
		k = unknownClusters
	}
	row := 4 * p.Dimension
	search := row + lists + searching
	if p.Code > 0 {
		row = p.Code
		search = 5*row + lists + searching // it sees codes as float32
	}
	if p.Code >= sketchedFrom || p.Code == 0 && p.Dimension >= sketchedFrom {
		search += sketches
	}
	if p.vectors {
		row += 4 * k
	}
	p.Bytes = int64(n)*int64(row+spreadOn+max(lists, 4*k)) + p.square()
	p.Peak = int64(n)*int64(max(search, row+lists+solving+max(16*columnsAtOnce(k), 4*k))) + p.square()
}

// plan chooses whole rows if Bytes fits into limit, else the longest code with which Peak fits, else the
// longest with which Bytes fits. Measured recall may shorten it later. If nothing fits, it returns the
// smallest plan and an error.
func (p *Problem) plan(limit int64) (Plan, error) {
	n := p.N + p.Support.N
	out := Plan{Rows: p.N, Dimension: p.D, Limit: limit, vectors: p.ClassVectors.N > 0}
	out.size(n, p.K)
	if limit <= 0 || out.Bytes <= limit {
		return out, nil
	}
	if out.square() > limit {
		return out, fmt.Errorf("memory: comparing vectors of %d numbers needs %s, and %s may be used (max-memory): "+
			"label fewer columns, for example principal components", p.D, Size(out.square()), Size(limit))
	}
	least := min(leastCode, p.D)
	for _, of := range []func() int64{func() int64 { return out.Peak }, func() int64 { return out.Bytes }} {
		for out.Code = min(mostCode, p.D); out.Code >= least; out.Code /= 2 {
			if out.size(n, p.K); of() <= limit {
				return out, nil
			}
		}
	}
	out.Code = least
	out.size(n, p.K)
	return out, fmt.Errorf("memory: %d rows and %d classes need %s even as codes of %d bytes, and %s may be used (max-memory)",
		p.N, p.K, Size(out.Bytes), out.Code, Size(limit))
}
