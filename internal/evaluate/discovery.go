package evaluate

import (
	"math/rand/v2"
	"strconv"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/stream"
)

// DiscoveryStream is a stream without labels, in which clusters are to be found.
type DiscoveryStream struct {
	Name     string
	Set      *Set
	Protocol StreamProtocol
}

// DiscoveryStreams makes streams that differ in pace, length and number of classes out of labelled sets, so
// that a rule is not chosen on one of them. A camera, which is a set with frames, comes whole, as its two
// halves in time, with every second and every fourth frame only, and with a random half of its identities;
// another set comes in bursts, whole and with a random half of its classes.
func DiscoveryStreams(sets []*Set) []DiscoveryStream {
	const least = 20 // rows of a class, of every frame
	var out []DiscoveryStream
	for _, set := range sets {
		ids, _ := set.classes()
		half := map[int32]bool{}
		for _, id := range choose(rand.New(rand.NewPCG(1, 9)), ids, len(ids)/2) {
			half[id] = true
		}
		add := func(name string, least int, keep func(row int32) bool) {
			p := StreamProtocol{
				Order: "given", Episode: 100, SupportBy: "class", TeachBy: "random", MinRows: least,
				Frames: set.Frames,
			}
			order := make([]int32, set.N)
			for row := range order {
				order[row] = int32(row)
			}
			if set.Frames == nil {
				classes, rows := set.classes()
				order = bursts(classes, rows, rand.New(rand.NewPCG(1, 1)))
			}
			for _, row := range order {
				if keep == nil || keep(row) {
					p.Given = append(p.Given, row)
				}
			}
			out = append(out, DiscoveryStream{Name: set.Name + name, Set: set, Protocol: p})
		}
		add("", least, nil)
		if set.Frames != nil {
			add(", first half", least, func(row int32) bool { return int(row) < set.N/2 })
			add(", second half", least, func(row int32) bool { return int(row) >= set.N/2 })
			for _, step := range []int32{2, 4} {
				add(", one frame of "+strconv.Itoa(int(step)), least,
					func(row int32) bool { return set.Frames[row]%step == 0 })
			}
		}
		add(", half of the classes", least, func(row int32) bool { return half[set.Labels[row]] })
	}
	return out
}

// Leaders is the rival of discovery: each row joins the nearest leader within a squared distance, else it
// leads a cluster of its own; a leader is the running mean of what joined it. The mean of all rows is taken
// off first, which a stream could not know: that is in its favour.
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
