package web

import (
	"math"
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// likes keeps what groups of strangers are most like by the labels in force, for as long as these are.
type likes struct {
	mu   sync.Mutex
	of   *labels.Version
	said map[string]*like // by the result of the middle member
}

// like is the name of the example nearest to a group's middle member.
type like struct {
	name           string
	later          bool    // the example was taught after the item's time
	nearest, other float64 // cosines to it, and to the nearest of another name; 0: none is less than a right angle away
}

// clear says whether the name is another answer than the item's own, which was given without the example: by the rule of
// corrections, against examples of other names.
func (l *like) clear() bool { return l.later && 1-l.nearest < recent.Nearer*(1-l.other) }

// see counts an example of this name.
func (l *like) see(name string, cosine float64, later bool) {
	switch {
	case cosine > l.nearest && name == l.name:
		l.nearest, l.later = cosine, later
	case cosine > l.nearest:
		*l = like{name, later, cosine, l.nearest}
	case name != l.name:
		l.other = max(l.other, cosine)
	}
}

// counts says whether the stage answers a vector of a stream and model with an example.
func counts(e *record.Example, stream, model string, dimension int) bool {
	return len(e.Vector) == dimension && (e.Stream == "" || e.Stream == stream) && (e.Model == "" || e.Model == model)
}

// renew calls groups what they are most like today: the answers of their items are of an earlier time.
func (p *Page) renew(groups []groupView) {
	l, now := &p.likes, p.stage.Current()
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.said
	if l.of != now {
		before = nil
	}
	said, missing := map[string]*like{}, []*groupView{}
	for i := range groups {
		g := &groups[i]
		if said[g.Middle.Result] = before[g.Middle.Result]; said[g.Middle.Result] == nil {
			said[g.Middle.Result] = new(like)
			missing = append(missing, g)
			unit := make([]float32, len(g.vector))
			vector.Unit(unit, g.vector)
			g.vector = unit
		}
	}
	l.of, l.said = now, said
	if len(missing) > 0 {
		names, _ := taught.NewNames(renaming(p.stage.Names()))
		for e := range p.stage.Examples() {
			length := math.Sqrt(float64(kernel.Dot(e.Vector, e.Vector)))
			for _, g := range missing {
				m := &g.Middle
				if !counts(&e, m.Stream, m.Model, len(g.vector)) {
					continue
				}
				cosine := float64(kernel.Dot(e.Vector, g.vector)) / length
				said[m.Result].see(names.Of(m.Stream, e.Label), cosine, e.At.After(m.Time))
			}
		}
	}
	for i := range groups {
		m := &groups[i].Middle
		if of := said[m.Result]; of.clear() && of.name != m.Label {
			m.Label, m.Confidence = of.name, of.nearest
		}
	}
}
