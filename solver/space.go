package solver

// leastMass is the mass below which a class keeps its prototype, as R hardly depends on it: the inverse of a
// smaller one may be none in float32.
const leastMass = 1e-30

// space is where prototypes live: as rows of dimension d, or as weights of the rows of an episode. Both engines are driven
// by the same descent and agree to rounding.
type space interface {
	// dots returns x_p . C_k, k a row, for count rows from lo on, or for those listed; in the worker's memory.
	dots(w *worker, lo, count int, listed []int32) []float32
	// dot is x_p . C_c.
	dot(p, c int) float32
	// average moves each prototype that has mass to the mean of rows 0 to count-1, weighed as the episode weighs
	// them, and with base of the labelled rows and the prior. One with less than leastMass stays.
	average(count int, base, density bool)
	// scale multiplies a prototype.
	scale(c int, by float64)
	// heldDot is the product of a prototype and the weighted sum of the labelled rows and the prior of its class.
	heldDot(c int) float64
	squaredDistance(p, q int) float32
	// squaredDistances fills out with those of the first n rows among each other, n x n.
	squaredDistances(out []float32, n int)
	// precise fills in for every row what R is made of, summed in float64.
	precise(out *exact)
	// prototypes writes the prototypes, k x d zeros before, as rows of u-space.
	prototypes(out []float32)
	// labelledDots fills n x k products of the rows with the unit mean of each class's labelled items.
	labelledDots(out []float32)
}
