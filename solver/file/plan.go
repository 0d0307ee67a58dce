package file

import "fmt"

// Plan says how a problem will be solved within the memory given.
type Plan struct {
	Rows, Dimension int
	Bytes           int64   // that the solve needs, about
	Limit           int64   // that it may use; 0: no limit
	Code            int     // dimensions kept of each row, one byte each; 0: all of them, in full
	Recall          float64 // share of a row's true neighbours that codes find, measured on a sample; 0 until it is, and without codes
}

func (p Plan) String() string {
	if p.Code == 0 {
		return fmt.Sprintf("%d rows of dimension %d in one solve, about %s", p.Rows, p.Dimension, megabytes(p.Bytes))
	}
	recall := ""
	if p.Recall > 0 {
		recall = fmt.Sprintf(", which keep %.0f %% of the neighbours of a row", 100*p.Recall)
	}
	return fmt.Sprintf("%d rows of dimension %d as codes of %d bytes%s, in one solve, about %s", p.Rows, p.Dimension, p.Code, recall, megabytes(p.Bytes))
}

func megabytes(bytes int64) string { return fmt.Sprintf("%d MiB", (bytes+1<<20-1)>>20) }

// Sizes in which the rows are kept as codes.
const (
	leastCode = 16
	mostCode  = 256
)

// bytes is what a solve needs at its height: while neighbours are searched for, float32 rows, what the search works in, and its
// lists; while labels are spread, the lists, the graph and a block of classes; while R falls, the graph and S.
func needed(n, d, k, code int) int64 {
	rows, kept := int64(4*d), int64(0)
	if code > 0 {
		rows, kept = int64(code), int64(4*code) // decoded for the search
	}
	const lists, searching, graph = 8 * listed, 280, 8 * 2 * listed
	search := kept + searching + lists
	spreading := lists + graph + int64(16*min(k, columnsAtOnce)) + 12
	falling := lists + graph/2 + int64(4*k) + 16
	return int64(n)*(rows+max(search, spreading, falling)) + 64<<20
}

// plan chooses whole rows where they fit, else the longest code that fits; measured recall may shorten it later.
func (p *Problem) plan(limit int64) (Plan, error) {
	n := p.N + p.Support.N
	out := Plan{Rows: p.N, Dimension: p.D, Limit: limit, Bytes: needed(n, p.D, p.K, 0)}
	if limit <= 0 || out.Bytes <= limit {
		return out, nil
	}
	for code := min(mostCode, p.D); code >= min(leastCode, p.D); code /= 2 {
		out.Code, out.Bytes = code, needed(n, p.D, p.K, code)
		if out.Bytes <= limit {
			return out, nil
		}
	}
	return out, fmt.Errorf("memory: %d rows and %d classes need %s even as codes of %d bytes, and %s may be used (max-memory)",
		p.N, p.K, megabytes(out.Bytes), out.Code, megabytes(limit))
}
