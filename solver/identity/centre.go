package identity

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// What all clusters of a stream have in common is its centre: each counts the same, however long its thing stayed. While a
// stream knows few clusters, the centre of all streams stands in, as that of a single cluster would be the cluster itself;
// for the same reason that of all streams counts one row at the origin. A centre moves only when there are a quarter more
// clusters than when it was computed, as the clusters of a stream must be placed anew when it does.
const (
	commonClusters = 8    // that the common centre counts as
	moreClusters   = 1.25 // as many clusters as before move a centre
	movesCommon    = 2048 // clusters from which on the common centre stays where it is
)

// common is what the streams of a space share.
type common struct {
	space   space
	centre  centre
	cameras map[string]*camera
	metric  *metric.Map // nil: none
	learned bool        // the metric is another one since the last Update
	ahead   []float32   // rows of clusters; see Ahead
}

// camera is a stream with clusters of one space.
type camera struct {
	stream  string
	all     *common
	members []*member
	centre  centre
}

// centre is the mean of the means of clusters.
type centre struct {
	at    []float32
	count int // clusters when it was computed
}

// grown says whether there are so many clusters that the centre must move.
func (c *centre) grown(now int) bool {
	return float64(now) >= moreClusters*float64(c.count) && now != c.count
}

func (l *Linker) common(at space) *common {
	all := l.spaces[at]
	if all == nil {
		all = &common{space: at, centre: centre{at: make([]float32, at.dimension)}, cameras: map[string]*camera{}}
		l.spaces[at] = all
	}
	return all
}

func (l *Linker) camera(stream string, at space) *camera {
	all := l.common(at)
	if all.cameras[stream] == nil {
		all.cameras[stream] = &camera{stream: stream, all: all, centre: centre{at: make([]float32, at.dimension)}}
	}
	return all.cameras[stream]
}

// subtract fills out with a row at length 1, less the centre, at length 1. Both may be one.
func (c *centre) subtract(out, row []float32) {
	vector.Unit(out, row)
	kernel.Axpy(-1, c.at, out)
	vector.Unit(out, out)
}

// recentre moves the centres that must move, and returns the clusters that this, or another metric, concerns.
func (l *Linker) recentre() (moved []*member) {
	for _, all := range l.spaces {
		cameras := slices.SortedFunc(maps.Values(all.cameras), func(a, b *camera) int { return cmp.Compare(a.stream, b.stream) })
		count := 0
		for _, c := range cameras {
			count += len(c.members)
		}
		every := all.centre.count < movesCommon && all.centre.grown(count)
		if every {
			all.centre.count = count
			clear(all.centre.at)
			for _, c := range cameras {
				c.add(all.centre.at)
			}
			kernel.Scale(1/float32(count+1), all.centre.at)
		}
		for _, c := range cameras {
			if every || c.centre.grown(len(c.members)) {
				c.centre.count = len(c.members)
				clear(c.centre.at)
				c.add(c.centre.at)
				kernel.Axpy(commonClusters, all.centre.at, c.centre.at)
				kernel.Scale(1/(float32(c.centre.count)+commonClusters), c.centre.at)
			} else if !all.learned {
				continue
			}
			moved = append(moved, c.members...)
		}
		all.learned = false
	}
	return moved
}

// add adds the means of a stream's clusters, at length 1.
func (c *camera) add(sum []float32) {
	row := make([]float32, len(sum))
	for _, m := range c.members {
		vector.Longs(row, m.mean, 1)
		vector.Unit(row, row)
		kernel.Axpy(1, row, sum)
	}
}
