package stream

import (
	"cmp"
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
type Rejections struct{ streams map[string][]rejected }

// rejected is a rejection with its vector at unit length.
type rejected struct {
	Rejection
	unit []float32
}

// NewRejections puts rejections in force. If there are too many, the first ones are left out.
func NewRejections(list []Rejection) (r *Rejections, leftOut int) {
	type class struct{ stream, name string }
	count := map[class]int{}
	r = &Rejections{streams: map[string][]rejected{}}
	all := 0
	for _, x := range slices.Backward(list) {
		full := all == rejectionsMost
		for _, name := range x.Not {
			full = full || count[class{x.Stream, name}] == rejectionsMostClass
		}
		if full {
			leftOut++
			continue
		}
		all++
		for _, name := range x.Not {
			count[class{x.Stream, name}]++
		}
		next := rejected{x, make([]float32, len(x.Vector))}
		vector.Unit(next.unit, x.Vector)
		r.streams[x.Stream] = append(r.streams[x.Stream], next)
	}
	return r, leftOut
}

// of returns the rejections that apply to a stream.
func (r *Rejections) of(stream string) []rejected {
	if r == nil {
		return nil
	}
	if stream == "" {
		return r.streams[""]
	}
	return slices.Concat(r.streams[""], r.streams[stream])
}

// rejectedClass is a rejection of one class of an episode.
type rejectedClass struct {
	rejected
	class    int
	examples []float32 // of the class, at unit length; shared by its rejections
}

// apart returns the squared distance from a unit vector to the nearest example of the class.
func (x *rejectedClass) apart(unit []float32) float64 {
	apart := math.Inf(1)
	for d, from := len(unit), 0; from < len(x.examples); from += d {
		apart = min(apart, float64(kernel.SquaredDistance(x.examples[from:from+d], unit)))
	}
	return apart
}

// rejectedClasses lists the rejections that apply to a stream, in the order of the classes that they reject.
func (p *problem) rejectedClasses(s *Stream) (out []rejectedClass) {
	labels := p.called
	list := slices.DeleteFunc(labels.rejections.of(s.Name), func(x rejected) bool {
		return len(x.unit) != s.dimension || x.Model != "" && x.Model != s.model
	})
	if len(list) == 0 {
		return nil
	}
	columns := map[string][]int{} // by name: classes
	for c, name := range p.names {
		called := labels.called(name)
		columns[called] = append(columns[called], c)
	}
	known := p.byClass()
	examples := map[int][]float32{} // of a class, at unit length
	d := s.dimension
	for _, x := range list {
		for _, name := range x.Not {
			for _, c := range columns[labels.called(name)] {
				if examples[c] == nil {
					examples[c] = unitRows(known[c], d)
				}
				next := rejectedClass{x, c, examples[c]}
				// The class needs examples, and the rejected vector must not be one of them.
				if len(examples[c]) > 0 && next.apart(x.unit) > 0 {
					out = append(out, next)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b rejectedClass) int { return cmp.Compare(a.class, b.class) })
	return out
}

// against returns the evidence of rejections for an episode's items, n x K: below zero for a class that an
// item is not of, 0 for all others. nil: none.
func (p *problem) against(s *Stream, items []Item) []float32 {
	list := p.rejectedClasses(s)
	if len(list) == 0 {
		return nil
	}
	out, unit := make([]float32, len(items)*p.K), make([]float32, s.dimension)
	near := false
	for i := range items {
		if speakAgainst(out[i*p.K:i*p.K+p.K], list, &items[i], unit) {
			near = true
		}
	}
	if !near {
		return nil
	}
	return out
}

// speakAgainst writes the evidence of rejections for one item to its row, which has a value for each class,
// and reports whether there is any. unit is scratch for one vector.
func speakAgainst(row []float32, list []rejectedClass, item *Item, unit []float32) (near bool) {
	vector.Unit(unit, item.Vector)
	apart := 0.
	for i := range list {
		x := &list[i]
		if i == 0 || x.class != list[i-1].class {
			apart = x.apart(unit)
		}
		if weight := x.weight(item, unit, apart); weight > 0 {
			row[x.class] = min(row[x.class], float32(-rejectionWeight*weight))
			near = true
		}
	}
	return near
}

// weight is how strongly the rejection counts against a class for an item; at most 0: not at all. row is the
// item's unit vector, apart its squared distance to the nearest example of the class.
func (x *rejected) weight(item *Item, row []float32, apart float64) float64 {
	switch {
	case item.Label != "":
		return 0
	case x.Track != "" && item.Track == x.Track:
		return 1
	}
	return 1 - float64(kernel.SquaredDistance(row, x.unit))/apart/rejectionReach
}

// byClass returns the labelled examples that the episode gets, by their class.
func (p *problem) byClass() [][]*labelled {
	out := make([][]*labelled, len(p.names))
	list, classes := p.listed()
	for i, c := range classes {
		out[c] = append(out[c], list[i].labelled)
	}
	return out
}

// unitRows returns the vectors of examples at unit length.
func unitRows(list []*labelled, d int) []float32 {
	out := make([]float32, len(list)*d)
	for i, e := range list {
		vector.Unit(out[i*d:i*d+d], e.Vector)
	}
	return out
}
