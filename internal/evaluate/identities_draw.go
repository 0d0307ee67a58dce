package evaluate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
)

// draw returns the episodes of all streams in the order in which they close.
func (p *Identities) draw(set *Set) ([][]*sighting, error) {
	random := rand.New(rand.NewPCG(p.Seed, 59))
	orders := p.stretches(set)
	if set.Frames == nil {
		orders = p.shared(set, random)
	}
	shifts := make([]*shift, p.Streams)
	for i := range shifts {
		if len(orders[i]) == 0 {
			return nil, fmt.Errorf("data %s: too few rows for %d streams", set.Name, p.Streams)
		}
		shifts[i] = p.newShift(set.D, random)
	}
	var episodes [][]*sighting
	for at := 0; ; at += identityEpisode {
		before := len(episodes)
		for i, order := range orders {
			var episode []*sighting
			for _, row := range order[min(at, len(order)):min(at+identityEpisode, len(order))] {
				it := &sighting{stream: i, truth: set.Labels[row], vector: shifts[i].apply(set.row(row), random)}
				if set.Frames != nil {
					it.frame = strconv.Itoa(int(set.Frames[row]))
				}
				episode = append(episode, it)
			}
			if len(episode) > 0 {
				episodes = append(episodes, episode)
			}
		}
		if len(episodes) == before {
			return episodes, nil
		}
	}
}

// stretches cuts the rows of known class, in order, into one stretch a stream.
func (p *Identities) stretches(set *Set) [][]int32 {
	var known []int32
	for row := range int32(set.N) {
		if set.Labels[row] >= 0 {
			known = append(known, row)
		}
	}
	orders := make([][]int32, p.Streams)
	for i := range orders {
		orders[i] = known[len(known)*i/p.Streams : len(known)*(i+1)/p.Streams]
	}
	return orders
}

// shared divides the rows of each class among two or more streams, five rows or more each if there are as many.
func (p *Identities) shared(set *Set, random *rand.Rand) [][]int32 {
	ids, rows := set.classes()
	here, of := make([][]int32, p.Streams), make([]map[int32][]int32, p.Streams) // classes of a stream; their rows
	for i := range of {
		of[i] = map[int32][]int32{}
	}
	for _, id := range ids {
		list := choose(random, rows[id], min(len(rows[id]), max(4, identityRows/len(ids))))
		if len(list) < 2 {
			continue
		}
		count := 2 + random.IntN(max(2, min(p.Streams, len(list)/5))-1)
		for i, to := range random.Perm(p.Streams)[:count] {
			here[to] = append(here[to], id)
			of[to][id] = list[len(list)*i/count : len(list)*(i+1)/count]
		}
	}
	orders := make([][]int32, p.Streams)
	for i := range orders {
		orders[i] = bursts(here[i], of[i], random)
	}
	return orders
}

// shift is what a stream does to its rows.
type shift struct {
	strength float64
	rotation []float32 // d x d
	offset   []float32
	scale    float32
}

// newShift draws a shift: a row is taken Shift of the way to its rotation; an offset Shift times as long as the
// row and noise half as long are added; and the logarithm of the scale varies by Shift.
func (p *Identities) newShift(d int, random *rand.Rand) *shift {
	s := &shift{strength: p.Shift}
	if p.Shift == 0 {
		return s
	}
	values := make([]float64, d*d)
	for i := range values {
		values[i] = random.NormFloat64()
	}
	var qr mat.QR
	qr.Factorize(mat.NewDense(d, d, values))
	var q mat.Dense
	qr.QTo(&q)
	s.rotation = make([]float32, d*d)
	for i, v := range q.RawMatrix().Data {
		s.rotation[i] = float32(v)
	}
	s.offset = make([]float32, d)
	for i := range s.offset {
		s.offset[i] = float32(random.NormFloat64() * p.Shift / math.Sqrt(float64(d)))
	}
	s.scale = float32(math.Exp(random.NormFloat64() * p.Shift))
	return s
}

func (s *shift) apply(row []float32, random *rand.Rand) []float32 {
	out := slices.Clone(row)
	if s.rotation == nil {
		return out
	}
	d := len(row)
	length := math.Sqrt(float64(kernel.Dot(row, row)))
	kernel.Scale(float32(1-s.strength), out)
	turned := make([]float32, d)
	kernel.Products(turned, row, s.rotation, 1, d, d)
	kernel.Axpy(float32(s.strength), turned, out)
	kernel.Axpy(float32(length), s.offset, out)
	for i := range out {
		out[i] += float32(random.NormFloat64() * length * s.strength / 2 / math.Sqrt(float64(d)))
	}
	kernel.Scale(s.scale, out)
	return out
}
