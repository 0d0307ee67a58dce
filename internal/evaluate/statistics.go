package evaluate

import "math"

// Estimate is a mean and the half width of its 95 % confidence interval (normal, from the
// sample's own variance).
type Estimate struct{ Mean, CI95 float64 }

// Average estimates the mean of the values.
func Average(values []float64) Estimate {
	n := float64(len(values))
	if n == 0 {
		return Estimate{}
	}
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	mean := sum / n
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if n < 2 {
		return Estimate{Mean: mean}
	}
	return Estimate{mean, 1.96 * math.Sqrt(squares/(n-1)/n)}
}

// Paired estimates the mean of a - b, value by value. Both must come from the same tasks.
func Paired(a, b []float64) Estimate {
	difference := make([]float64, len(a))
	for i := range a {
		difference[i] = a[i] - b[i]
	}
	return Average(difference)
}
