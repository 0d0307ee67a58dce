package metric

import "github.com/slkstream/slkstream/internal/kernel"

// Residuals is a sum of r r' over residual rows r.
type Residuals struct {
	Freedom float64   // degrees of freedom
	Trace   float64   // sum of |r|^2
	Values  []float32 // d x d, of which the upper triangle counts; nil: no residuals yet
}

// Add adds residual rows of dimension d to the sum.
func (r *Residuals) Add(rows []float32, d int, freedom float64) {
	r.Freedom += freedom
	r.Trace += squares(rows, d)
	if r.Values == nil {
		r.Values = make([]float32, d*d)
	}
	kernel.AddOuter(r.Values, rows, len(rows)/d, d)
}

// squares returns the sum of |r|^2 over rows r of dimension d.
func squares(rows []float32, d int) (sum float64) {
	for from := 0; from < len(rows); from += d {
		sum += float64(kernel.Dot(rows[from:from+d], rows[from:from+d]))
	}
	return sum
}
