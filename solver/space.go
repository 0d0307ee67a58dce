package solver

// leastMass is the mass below which a class keeps its prototype: R hardly depends on it, and the inverse of a
// smaller mass may overflow float32.
const leastMass = 1e-30

// space represents the prototypes, as rows of dimension d or as weights of an episode's rows. The same
// descent drives both engines, and they agree up to rounding.
type space interface {
	// dots returns the products x_p . C_k, k values a row, for count rows from lo on, or for the listed rows if
	// there is a list. The result lies in the worker's memory.
	dots(w *worker, lo, count int, listed []int32) []float32
	// dot is x_p . C_c.
	dot(p, c int) float32
	// average sets each prototype to the mean of rows 0 to count-1, weighted by episode.weigh, which gets
	// density. With base the labelled rows and the prior count too. A prototype with a mass below
	// leastMass stays unchanged.
	average(count int, base, density bool)
	// scale multiplies prototype c by a factor.
	scale(c int, by float64)
	// heldDot returns the product of prototype c and the weighted sum of its class's labelled rows and prior.
	heldDot(c int) float64
	squaredDistance(p, q int) float32
	// precise computes the products and squared lengths that R needs in float64, for every row.
	precise(out *exact)
	// prototypes writes the prototypes as rows of u-space to out, k x d, which must be zero.
	prototypes(out []float32)
	// labelledDots fills out, n x k, with the products of the rows and the unit mean of each
	// class's labelled items.
	labelledDots(out []float32)
}
