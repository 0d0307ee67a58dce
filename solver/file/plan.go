package file

import "fmt"

// Plan says how a problem will be solved within the memory given.
type Plan struct {
	Rows, Dimension int
	Bytes           int64   // that rows, graph and answers take, about
	Working         int64   // that the work takes beside them at its height, about
	Limit           int64   // that Bytes may be; 0: no limit
	Code            int     // dimensions kept of each row, one byte each; 0: all of them, in full
	Recall          float64 // share of a row's true neighbours that codes find, measured on a sample; 0 until it is, and without codes
}

func (p Plan) String() string {
	if p.Code == 0 {
		return fmt.Sprintf("%d rows of dimension %d in one solve: about %s, and %s to work in", p.Rows, p.Dimension,
			megabytes(p.Bytes), megabytes(p.Working))
	}
	recall := ""
	if p.Recall > 0 {
		recall = fmt.Sprintf(", which keep %.0f %% of the neighbours of a row", 100*p.Recall)
	}
	return fmt.Sprintf("%d rows of dimension %d as codes of %d bytes%s, in one solve: about %s, and %s to work in", p.Rows,
		p.Dimension, p.Code, recall, megabytes(p.Bytes), megabytes(p.Working))
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

// Sizes in which the rows are kept as codes.
const (
	leastCode = 16
	mostCode  = 256
)

// needed is what is kept of a problem at most: the rows or their codes, and beside them the lists of neighbours with the graph that
// labels are spread over, or the graph of R with S.
func needed(n, d, k, code int) int64 {
	rows := int64(4 * d)
	if code > 0 {
		rows = int64(code)
	}
	const lists, graph = 8 * listed, 8 * 3 * spreading / 2
	return int64(n) * (rows + max(lists+graph, graph+int64(4*k)))
}

// working is what the work takes beside: the search for neighbours, which sees codes as float32, or a block of classes.
func working(n, k, code int) int64 {
	return int64(n) * max(int64(4*code)+280, int64(24*min(k, columnsAtOnce(n))))
}

// plan chooses whole rows where they fit, else the longest code that fits; measured recall may shorten it later.
func (p *Problem) plan(limit int64) (Plan, error) {
	n := p.N + p.Support.N
	out := Plan{Rows: p.N, Dimension: p.D, Limit: limit, Bytes: needed(n, p.D, p.K, 0), Working: working(n, p.K, 0)}
	if limit <= 0 || out.Bytes <= limit {
		return out, nil
	}
	for code := min(mostCode, p.D); code >= min(leastCode, p.D); code /= 2 {
		out.Code, out.Bytes, out.Working = code, needed(n, p.D, p.K, code), working(n, p.K, code)
		if out.Bytes <= limit {
			return out, nil
		}
	}
	return out, fmt.Errorf("memory: %d rows and %d classes need %s even as codes of %d bytes, and %s may be used (max-memory)",
		p.N, p.K, megabytes(out.Bytes), out.Code, megabytes(limit))
}
