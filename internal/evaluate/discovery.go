package evaluate

import (
	"math/rand/v2"
	"strconv"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/stream"
)

// DiscoveryStream is an unlabelled stream in which clusters are to be found.
type DiscoveryStream struct {
	Name     string
	Kind     string // one of DiscoveryKinds
	Set      *Set
	Protocol StreamProtocol
	Same     bool // every seed draws the same stream
}

// DiscoveryKinds are the kinds of streams of DiscoveryStreams.
var DiscoveryKinds = []string{"cameras with frames", "cameras without frames", "bursts"}

// DiscoveryStreams makes streams of different pace, length and number of classes from labelled sets, so that
// a rule is not chosen on one of them. A set with frames is a camera. It gives the whole stream, its two
// halves in time, every second and every fourth frame, and a random half of its identities, each with and
// without frames. Any other set comes in bursts, whole and with a random half of its classes.
func DiscoveryStreams(sets []*Set, seed uint64) []DiscoveryStream {
	const least = 20 // rows of a class, counted over every frame
	var out []DiscoveryStream
	for _, set := range sets {
		ids, classes := set.classes()
		half := map[int32]bool{}
		for _, id := range choose(rand.New(rand.NewPCG(seed, 9)), ids, len(ids)/2) {
			half[id] = true
		}
		order := make([]int32, set.N)
		for row := range order {
			order[row] = int32(row)
		}
		if set.Frames == nil {
			order = bursts(ids, classes, rand.New(rand.NewPCG(seed, 1)))
		}
		add := func(name string, same bool, keep func(row int32) bool) {
			p := StreamProtocol{Order: "given", Episode: 100, SupportBy: "class", TeachBy: "random", MinRows: least}
			for _, row := range order {
				if keep(row) {
					p.Given = append(p.Given, row)
				}
			}
			if set.Frames == nil {
				out = append(out, DiscoveryStream{set.Name + name, DiscoveryKinds[2], set, p, false})
				return
			}
			out = append(out, DiscoveryStream{set.Name + name + ", no frames", DiscoveryKinds[1], set, p, same})
			p.Frames = set.Frames
			out = append(out, DiscoveryStream{set.Name + name, DiscoveryKinds[0], set, p, same})
		}
		add("", true, func(int32) bool { return true })
		if set.Frames != nil {
			add(", first half", true, func(row int32) bool { return int(row) < set.N/2 })
			add(", second half", true, func(row int32) bool { return int(row) >= set.N/2 })
			for _, step := range []int32{2, 4} {
				add(", one frame of "+strconv.Itoa(int(step)), true,
					func(row int32) bool { return set.Frames[row]%step == 0 })
			}
		}
		add(", half of the classes", false, func(row int32) bool { return half[set.Labels[row]] })
	}
	return out
}

// Leaders is the rival of discovery: each row joins the nearest leader within a squared distance, or starts a
// cluster. A leader is the running mean of its rows. The mean of all rows is subtracted first; a stream could
// not know it, which favours the rival.
const Leaders = "leaders"

func (t *Trial) leaders() []stream.Answer {
	const radius, window = .8, 20
	mean := make([]float32, t.D)
	for i := range t.Items {
		kernel.Axpy(1/float32(len(t.Items)), unitRow(t.Items[i].Vector), mean)
	}
	var means [][]float32
	var counts []int
	answers := make([]stream.Answer, len(t.Items))
	for i := range t.Items {
		row := unitRow(t.Items[i].Vector)
		kernel.Axpy(-1, mean, row)
		row = unitRow(row)
		nearest, at := float32(radius), -1
		for k := range means {
			if v := kernel.SquaredDistance(row, means[k]); v <= nearest {
				nearest, at = v, k
			}
		}
		if at < 0 {
			at = len(means)
			means, counts = append(means, row), append(counts, 1)
		} else {
			counts[at] = min(counts[at]+1, window)
			rate := 1 / float32(counts[at])
			kernel.Scale(1-rate, means[at])
			kernel.Axpy(rate, row, means[at])
		}
		answers[i].Label = strconv.Itoa(at)
	}
	return answers
}
