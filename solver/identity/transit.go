package identity

import "math"

// Transit is what is known of the ways between streams, by their names in order; those of Anywhere and Anywhere are all
// others. Clusters that were seen where one thing cannot have been are never joined.
type Transit map[[2]string]Way

// Anywhere stands for any stream.
const Anywhere = "*"

// Way says how long a thing takes from one stream to the other, or back.
type Way struct {
	Overlap bool  // both see one place: it may be in both at once, and the rest does not count
	Least   int64 // it is never in both within less
	Most    int64 // it is in both within so much; 0: or later
}

// between returns what is known of the way between two streams.
func (t Transit) between(a, b string) (way Way, known bool) {
	if way, known = t[[2]string{min(a, b), max(a, b)}]; !known {
		way, known = t[[2]string{Anywhere, Anywhere}]
	}
	return way, known
}

// allows says whether one thing can have made the visits of two clusters. What is in one identity already need not
// have been in both within the most that its way takes: earlier visits are forgotten.
func (t Transit) allows(a, b *member) bool {
	if len(t) == 0 || a.Stream == b.Stream || len(a.Visits) == 0 || len(b.Visits) == 0 {
		return true
	}
	way, known := t.between(a.Stream, b.Stream)
	if !known || way.Overlap {
		return true
	}
	nearest := int64(math.MaxInt64)
	for _, x := range a.Visits {
		for _, y := range b.Visits {
			nearest = min(nearest, max(0, y[0]-x[1], x[0]-y[1]))
		}
	}
	return nearest >= way.Least && (way.Most == 0 || nearest <= way.Most || a.of != nil && a.of == b.of)
}
