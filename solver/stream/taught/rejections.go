package taught

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Rejection says that items very near its vector are not of the classes in Not.
type Rejection struct {
	ID     string
	Stream string // the one stream that it is for; "": all
	Model  string // the embedder; "" fits any
	Track  string // of the item that was rejected; the others of the track are rejected too
	Not    []string
	Vector []float32
}

const (
	rejectionsMost      = 10_000 // in force at once ...
	rejectionsMostClass = 1000   // ... and of one class in one stream, or in all
	// A rejection counts against its class for items whose squared distance to its vector is below this part of
	// their squared distance to the nearest example of the class, the less the further they are. For items of
	// the same track it counts fully.
	rejectionReach  = .85
	rejectionWeight = 32 // at the vector itself, in labelled neighbours
)

// Rejections are those in force. They are immutable; nil: none.
type Rejections struct {
	of map[string]map[string][]*rejected // of each stream, "" for all, and class
}

// rejected is a rejection with its vector at unit length.
type rejected struct {
	Rejection
	unit []float32
	sum  uint64 // of unit
}

// NewRejections puts rejections in force. If there are too many, the first ones are left out.
func NewRejections(list []Rejection) (r *Rejections, leftOut int) {
	r = &Rejections{of: map[string]map[string][]*rejected{}}
	all := 0
	for _, x := range slices.Backward(list) {
		classes := r.of[x.Stream]
		full := all == rejectionsMost
		for _, name := range x.Not {
			full = full || len(classes[name]) == rejectionsMostClass
		}
		if full {
			leftOut++
			continue
		}
		all++
		if classes == nil {
			classes = map[string][]*rejected{}
			r.of[x.Stream] = classes
		}
		next := &rejected{Rejection: x, unit: make([]float32, len(x.Vector))}
		vector.Unit(next.unit, x.Vector)
		next.sum = vector.Sum(next.unit)
		for _, name := range x.Not {
			classes[name] = append(classes[name], next)
		}
	}
	return r, leftOut
}

// EpisodeRejections are the rejections that concern an episode's classes. They are immutable.
type EpisodeRejections struct {
	list    []*rejected
	classes []rejectedClass // ascending; none: nothing is rejected
	all     int             // classes of the episode
}

// rejectedClass is a class of an episode that rejections concern.
type rejectedClass struct {
	class    int
	by       []int     // its rejections, in the list
	examples []float32 // of the class, at unit length
}

// RejectionsOf returns the rejections that concern the stream and an episode's classes, by the names that users see.
// A class needs examples, of which known lists those of each, and the rejected vector must not be one of them.
func (l *ForStream) RejectionsOf(
	model string, dimension int, classes []string, known func() [][]*Entry,
) (out EpisodeRejections) {
	out.all = len(classes)
	by := map[string][]*rejected{} // of each name in use
	for _, stream := range slices.Compact([]string{"", l.stream}) {
		for name, list := range l.rejections.ofStream(stream) {
			name = l.Called(name)
			for _, x := range list {
				if len(x.unit) == dimension && (x.Model == "" || x.Model == model) {
					by[name] = append(by[name], x)
				}
			}
		}
	}
	if len(by) == 0 {
		return out
	}
	examples, listed := known(), map[*rejected]int{}
	for c, name := range classes {
		list := by[l.Called(name)]
		if len(list) == 0 || len(examples[c]) == 0 {
			continue
		}
		next, sums := rejectedClass{class: c, examples: unitRows(examples[c], dimension)}, map[uint64]bool{}
		for row := range slices.Chunk(next.examples, dimension) {
			sums[vector.Sum(row)] = true
		}
		for _, x := range list {
			if sums[x.sum] {
				continue
			}
			at, again := listed[x]
			if !again {
				at = len(out.list)
				listed[x], out.list = at, append(out.list, x)
			}
			next.by = append(next.by, at)
		}
		if len(next.by) > 0 {
			out.classes = append(out.classes, next)
		}
	}
	return out
}

// None reports whether nothing is rejected.
func (r *EpisodeRejections) None() bool { return len(r.classes) == 0 }

// ofStream returns the rejections that name a stream, by class; of "" those for all.
func (r *Rejections) ofStream(stream string) map[string][]*rejected {
	if r == nil {
		return nil
	}
	return r.of[stream]
}

// Row is what rejections need of an item.
type Row struct {
	Vector []float32
	Track  string
	Given  bool // it carries its label
}

// Scratch is memory that Speak uses again.
type Scratch struct {
	units     []float32 // of items
	distances []float32 // squared, rejections x items
}

// rejectedTogether is how many rows are compared with all rejections, which are then read once for them.
const rejectedTogether = 64

// Speak writes what rejections say of rows, a value for each class, to out, which has zeros: below zero for a class
// that a row is not of, 0 for all others. It reports whether there is any below. Each row is compared once with each
// rejection and each example of a rejected class, however many classes a rejection names.
func (r *EpisodeRejections) Speak(out []float32, rows []Row, w *Scratch) (any bool) {
	k := r.all
	for len(rows) > rejectedTogether {
		any = r.Speak(out, rows[:rejectedTogether], w) || any
		out, rows = out[rejectedTogether*k:], rows[rejectedTogether:]
	}
	n, d := len(rows), len(rows[0].Vector)
	w.units, w.distances = vector.Resize(w.units, n*d), vector.Resize(w.distances, len(r.list)*n)
	tracks := map[string][]int{}
	for i := range rows {
		vector.Unit(w.units[i*d:i*d+d], rows[i].Vector)
		if rows[i].Track != "" {
			tracks[rows[i].Track] = append(tracks[rows[i].Track], i)
		}
	}
	distances := func(to, from []float32) {
		for i := range to {
			to[i] = kernel.SquaredDistance(from, w.units[i*d:i*d+d])
		}
	}
	for at, x := range r.list {
		row := w.distances[at*n : at*n+n]
		distances(row, x.unit)
		for _, i := range tracks[x.Track] {
			row[i] = sameTrack
		}
	}
	var nearest, apart, next [rejectedTogether]float32 // to a rejection, and to an example
	for _, c := range r.classes {
		far(nearest[:n])
		for _, at := range c.by {
			lower(nearest[:n], w.distances[at*n:at*n+n])
		}
		far(apart[:n])
		for example := range slices.Chunk(c.examples, d) {
			distances(next[:n], example)
			lower(apart[:n], next[:n])
		}
		for i := range rows {
			if weight := rejectedWeight(nearest[i], apart[i]); weight > 0 && !rows[i].Given {
				out[i*k+c.class] = float32(-rejectionWeight * weight)
				any = true
			}
		}
	}
	return any
}

// sameTrack is the squared distance that counts between a rejection and the other items of its track.
const sameTrack = -1

// rejectedWeight is how strongly an item's class is rejected, given its squared distances to the nearest
// rejection and to the nearest example of the class; at most 0: not at all.
func rejectedWeight(nearest, apart float32) float64 {
	if nearest == sameTrack {
		return 1
	}
	return 1 - float64(nearest)/float64(apart)/rejectionReach
}

func far(x []float32) {
	for i := range x {
		x[i] = math.MaxFloat32
	}
}

// lower lowers values to those of another row where these are smaller.
func lower(x, by []float32) {
	by = by[:len(x)]
	for i, v := range by {
		if v < x[i] { // several times as fast as min
			x[i] = v
		}
	}
}

// unitRows returns the vectors of examples at unit length.
func unitRows(list []*Entry, d int) []float32 {
	out := make([]float32, len(list)*d)
	for i, e := range list {
		vector.Unit(out[i*d:i*d+d], e.Vector)
	}
	return out
}
