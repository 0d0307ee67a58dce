package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Clusters are remembered as means of unit rows, so that an id means the same whatever the stream sees
// later. They are compared in the space of an episode, where the mean of all that the stream has shown is
// taken off and lengths are 1 again: what all rows have in common says nothing of which is which, and
// hides how alike two of them are.

// clusterSpace is the space in which the clusters of one episode are compared.
type clusterSpace struct {
	centre []float32
	length float64 // of a row once the centre is taken off: the harmonic mean, as the mean of unit rows has it
	birth  float64 // a row further than this squared distance from every prototype leads a cluster of its own
}

// space is made of the rows clustered so far; a few rows say little of all, so that some at the origin are
// counted with them. It moves the unit rows of an episode into the space. share is that of
// Settings.DiscoverDistance.
func (s *clusters) space(share float64, rows []float32) *clusterSpace {
	const joined = 10
	known := s.count / (s.count + joined)
	out := &clusterSpace{centre: make([]float32, len(s.sum))}
	var common float64 // the squared length of the rows' mean
	for j, v := range s.sum {
		mean := v / s.count
		common += mean * mean
		out.centre[j] = float32(known * mean)
	}
	var inverse float64
	d := len(s.sum)
	for from := 0; from < len(rows); from += d {
		row := rows[from : from+d]
		kernel.Axpy(-1, out.centre, row)
		inverse += 1 / math.Sqrt(float64(kernel.Dot(row, row)))
		unitRow(row, row)
	}
	out.length = float64(len(rows)/d) / inverse
	// Rows lie as far apart as their mean leaves them, 2 where it is the origin.
	left := (1 - known) * (1 - known) * common / (1 - known*(2-known)*common)
	out.birth = 2 * share * (1 - left) * s.apart.room()
	return out
}

// prototypes are those of the clusters in the space.
func (c *clusterSpace) prototypes(list []*cluster) [][]float32 {
	out := make([][]float32, len(list))
	for k := range list {
		out[k] = slices.Clone(list[k].mean)
		kernel.Axpy(-1, c.centre, out[k])
		kernel.Scale(float32(1/c.length), out[k])
	}
	return out
}

// What was just here is likelier to be here again than what has long gone. A cluster of the last episode
// reaches reachLast of the distance for births, one that was not seen for reachEpisodes half of reachLoss
// less, and one that has long gone all of it.
const (
	reachLast     = 1.03
	reachLoss     = .2
	reachEpisodes = 5
)

// reach is how far each cluster reaches after so many episodes, in parts of the distance for births.
func (s *clusters) reach(episode int64) []float64 {
	out := make([]float64, len(s.list))
	for k, c := range s.list {
		unseen := float64(episode - c.seen)
		out[k] = reachLast - reachLoss*unseen/(reachEpisodes+unseen)
	}
	return out
}

// likeness is how alike two different things come to be: the mean square of the products of rows of one
// frame.
type likeness struct {
	squares, pairs float64
}

// The usual likeness is a deviation of usualLikeness about 0, and stands for usualPairs pairs before any
// is known. A row joins a cluster, at the default distance, where chance would have to be chanceLikeness
// deviations off.
const (
	usualLikeness  = .25
	usualPairs     = 200
	chanceLikeness = 2.4
)

// learn takes in the rows of an episode; those of one frame are different things.
func (l *likeness) learn(rows []float32, frames []string, n, d int) {
	for p := range n {
		if frames[p] == "" {
			continue
		}
		for q := range p {
			if frames[q] == frames[p] {
				v := float64(kernel.Dot(rows[p*d:p*d+d], rows[q*d:q*d+d]))
				l.squares += min(1, v*v)
				l.pairs++
			}
		}
	}
}

// room is how much further than usual a row may be from its cluster. Where the things of a frame are less
// alike than usual one thing may vary more before it is taken for another. The evidence is half believed
// (the root), as a stream shows more things in time than in a frame; and where they are more alike than
// usual the distance stays, as two boxes around one thing look the same.
func (l *likeness) room() float64 {
	deviation := math.Sqrt((l.squares + usualPairs*usualLikeness*usualLikeness) / (l.pairs + usualPairs))
	return math.Sqrt(max(1, (1-chanceLikeness*deviation)/(1-chanceLikeness*usualLikeness)))
}

// addRows takes rows into the mean of all unit rows clustered so far.
func (s *clusters) addRows(unit []float32, d int) {
	if s.sum == nil {
		s.sum = make([]float64, d)
	}
	for from := 0; from < len(unit); from += d {
		for j, v := range unit[from : from+d] {
			s.sum[j] += float64(v)
		}
		s.count++
	}
}

// unitRow is from at length 1.
func unitRow(to, from []float32) {
	var l float64
	for _, v := range from {
		l += float64(v) * float64(v)
	}
	l = math.Sqrt(l)
	for i, v := range from {
		to[i] = float32(float64(v) / l)
	}
}
