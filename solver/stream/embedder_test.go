package stream_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// network simulates an embedder: the properties that all of its vectors share, and the place of each object.
type network struct {
	random *rand.Rand
	common []float32
	scales []float32
	things [][]float32
}

func newNetwork(seed uint64, d, things int) *network {
	n := &network{random: rand.New(rand.NewPCG(seed, 3)), common: make([]float32, d), scales: make([]float32, d)}
	for i := range d {
		n.common[i] = float32(n.random.NormFloat64())
		n.scales[i] = float32(math.Exp(.5 * n.random.NormFloat64()))
	}
	n.move(things)
	return n
}

// move shows other objects to the network.
func (n *network) move(things int) {
	n.things = nil
	for range things {
		n.things = append(n.things, n.around(nil, 1))
	}
}

func (n *network) around(thing []float32, size float32) []float32 {
	v := make([]float32, len(n.common))
	for i := range v {
		v[i] = size * n.scales[i] * float32(n.random.NormFloat64())
		if thing != nil {
			v[i] += thing[i]
		}
	}
	return v
}

func (n *network) vector(class int) []float32 {
	v := n.around(n.things[class], .4)
	for i := range v {
		v[i] += n.common[i]
	}
	return v
}

func (n *network) episode(number, size int) []stream.Item {
	items := make([]stream.Item, size)
	for i := range items {
		items[i] = stream.Item{
			ID: fmt.Sprint(number, "-", i), Vector: n.vector(n.random.IntN(len(n.things))),
			Position: stream.Position{Offset: int64(number*size + i), Object: -1},
		}
	}
	return items
}

// embedders returns replacements of an embedder.
func embedders(random *rand.Rand, d int) map[string]func([]float32) []float32 {
	order, signs := random.Perm(d), make([]float32, d)
	for i := range signs {
		signs[i] = float32(1 - 2*random.IntN(2))
	}
	other := newNetwork(random.Uint64(), d, 5)
	turns := make([][]float32, 24) // reflections
	for i := range turns {
		turns[i] = make([]float32, d)
		length := 0.
		for j := range turns[i] {
			turns[i][j] = float32(random.NormFloat64())
			length += float64(turns[i][j]) * float64(turns[i][j])
		}
		for j := range turns[i] {
			turns[i][j] /= float32(math.Sqrt(length))
		}
	}
	return map[string]func([]float32) []float32{
		"permuted": func(v []float32) []float32 {
			out := make([]float32, d)
			for i, from := range order {
				out[i] = v[from]
			}
			return out
		},
		"rotated": func(v []float32) []float32 {
			out := make([]float32, d)
			for i, from := range order {
				out[i] = v[from] * signs[i]
			}
			for _, turn := range turns {
				along := float32(0)
				for i := range turn {
					along += turn[i] * out[i]
				}
				for i := range turn {
					out[i] -= 2 * along * turn[i]
				}
			}
			return out
		},
		"another network": func([]float32) []float32 { return other.vector(random.IntN(5)) },
	}
}

func (n *network) labels() []taught.Example {
	var list []taught.Example
	for c := range n.things {
		for i := range 3 {
			label := fmt.Sprint("class-", c)
			list = append(list, taught.Example{ID: fmt.Sprint(label, "-", i), Label: label, Vector: n.vector(c)})
		}
	}
	return list
}

// TestReplacedEmbedderIsTold: a replaced embedder is reported within two episodes of 20 items or more, or as
// many items in small ones. Meanwhile
// everything is unknown with at most the confidence of chance, even after a restore. Where the old one comes
// back, the stream continues with what it has learned.
func TestReplacedEmbedderIsTold(t *testing.T) {
	for seed := range uint64(7) {
		for _, size := range []int{8, 16, 40} {
			n := newNetwork(seed, 128, 5)
			kinds := embedders(rand.New(rand.NewPCG(seed, 9)), 128)
			for _, name := range slices.Sorted(maps.Keys(kinds)) {
				t.Run(fmt.Sprint(name, " ", seed, " ", size), func(t *testing.T) {
					replaceEmbedder(t, n, kinds[name], size)
				})
			}
		}
	}
}

func replaceEmbedder(t *testing.T, n *network, replaced func([]float32) []float32, size int) {
	settings := stream.Defaults()
	engine := new(stream.Engine)
	s := stream.New("cam", settings)
	labels := &taught.Labels{Everyone: n.labels()}
	number := 0
	answer := func(items []stream.Item) ([]stream.Answer, stream.Report) {
		t.Helper()
		answers, report, err := s.Answer(t.Context(), engine, items, labels)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = stream.Restore(settings, s.State()); err != nil {
			t.Fatal(err)
		}
		number++
		return answers, report
	}
	for number < 480/size {
		if _, report := answer(n.episode(number, size)); report.EmbeddingChanged {
			t.Fatal("told before anything changed")
		}
	}
	told, within := 0, 2*((20+size-1)/size)
	other := func() []stream.Item {
		items := n.episode(number, size)
		for i := range items {
			items[i].Vector = replaced(items[i].Vector)
		}
		return items
	}
	for ; told < within; told++ {
		answers, report := answer(other())
		if !report.EmbeddingChanged {
			continue
		}
		for _, a := range answers {
			if !a.Unknown || a.Confidence > .2+1e-9 || a.Calibrated {
				t.Fatalf("%+v though the embedding changed", a)
			}
		}
		break
	}
	if told == within {
		t.Fatalf("not told within %d items", within*size)
	}
	if _, report := answer(other()); !report.EmbeddingChanged || len(report.Events) > 0 {
		t.Fatalf("the next episode: changed %t, events %v", report.EmbeddingChanged, report.Events)
	}
	for range max(1, 16/size) {
		answer(n.episode(number, size))
	}
	answers, report := answer(n.episode(number, size))
	unknown := 0
	for _, a := range answers {
		if a.Unknown {
			unknown++
		}
	}
	if report.EmbeddingChanged || 2*unknown > size {
		t.Errorf("the old embedder is back: changed %v, %d of %d unknown", report.EmbeddingChanged, unknown, size)
	}
}

// TestTaughtAfterItsEmbedderChanged: labels of items of the new embedder end the break: the stream starts
// from its labels.
func TestTaughtAfterItsEmbedderChanged(t *testing.T) {
	n := newNetwork(3, 128, 5)
	replaced := embedders(rand.New(rand.NewPCG(3, 9)), 128)["rotated"]
	for _, by := range []string{"the feed", "the labels topic"} {
		t.Run(by, func(t *testing.T) {
			settings := stream.Defaults()
			engine := new(stream.Engine)
			s, examples := stream.New("cam", settings), n.labels()
			labels := &taught.Labels{Everyone: examples}
			var report stream.Report
			for number := range 20 {
				items := n.episode(number, 40)
				for i := range items {
					if number >= 10 {
						items[i].Vector = replaced(items[i].Vector)
					}
				}
				if number == 15 && by == "the feed" {
					items[3].Label = "class-1"
				}
				if number == 15 && by == "the labels topic" {
					for c := range n.things {
						label := fmt.Sprint("class-", c)
						examples = append(examples, taught.Example{
							ID: fmt.Sprint("new-", c), Label: label, Vector: replaced(n.vector(c)),
						})
					}
					labels = &taught.Labels{Everyone: examples}
				}
				var err error
				if _, report, err = s.Answer(t.Context(), engine, items, labels); err != nil {
					t.Fatal(err)
				}
				if want := number >= 11 && number < 15; report.EmbeddingChanged != want {
					t.Errorf("episode %d: changed %v", number, report.EmbeddingChanged)
				}
			}
			if report.Unknown == report.Count {
				t.Error("everything is unknown still")
			}
		})
	}
}

// TestSameEmbedderIsNotTold: less light, another site, a camera that was moved, one object alone and objects
// in turn do not count as another embedder.
func TestSameEmbedderIsNotTold(t *testing.T) {
	changes := map[string]func(n *network, v []float32) []float32{
		"less light": func(_ *network, v []float32) []float32 {
			for i := range v {
				v[i] *= .05
			}
			return v
		},
		"night": func(n *network, v []float32) []float32 { // mostly what all have in common
			for i := range v {
				v[i] = .2*v[i] + .8*n.common[i]
			}
			return v
		},
		"camera moved": func(n *network, v []float32) []float32 {
			for i, x := range n.things[0] {
				v[i] += .7 * x
			}
			return v
		},
		"another site": func(_ *network, v []float32) []float32 { return v },
		"one thing":    func(n *network, _ []float32) []float32 { return n.vector(2) },
	}
	for name, change := range changes {
		for seed := range uint64(7) {
			n := newNetwork(seed, 128, 5)
			settings := stream.Defaults()
			engine := new(stream.Engine)
			s, labels := stream.New("cam", settings), &taught.Labels{Everyone: n.labels()}
			for number := range 40 {
				if number == 10 && name == "another site" {
					n.move(5)
				}
				items := n.episode(number, 20)
				for i := range items {
					if number >= 10 {
						items[i].Vector = change(n, items[i].Vector)
					}
				}
				_, report, err := s.Answer(t.Context(), engine, items, labels)
				if err != nil {
					t.Fatal(err)
				}
				if report.EmbeddingChanged {
					t.Errorf("%s, seed %d, episode %d: told as another embedder", name, seed, number)
				}
			}
		}
	}
}

// TestOtherObjectsAreNoOtherEmbedder: embeddings without a common mean and of even spread, of which each
// episode shows other classes than the last, are of one embedder.
func TestOtherObjectsAreNoOtherEmbedder(t *testing.T) {
	orders := map[string]func(random *rand.Rand, episode, item, last, classes int) int{
		"shuffled": func(random *rand.Rand, _, _, _, classes int) int { return random.IntN(classes) },
		"in bursts": func(random *rand.Rand, _, item, last, classes int) int {
			if item%8 == 0 {
				return random.IntN(classes)
			}
			return last
		},
		"one class an episode": func(random *rand.Rand, _, item, last, classes int) int {
			if item == 0 {
				return random.IntN(classes)
			}
			return last
		},
		"class after class": func(random *rand.Rand, episode, _, _, classes int) int {
			return (episode*classes/15 + random.IntN(max(2, classes/8))) % classes
		},
	}
	for _, name := range slices.Sorted(maps.Keys(orders)) {
		for _, d := range []int{64, 128, 512} {
			for _, classes := range []int{5, 20, 60} {
				for _, size := range []int{20, 100} {
					title := fmt.Sprintf("%s, %d numbers, %d classes, %d items", name, d, classes, size)
					t.Run(title, func(t *testing.T) {
						n := evenNetwork(uint64(d+classes), d, classes)
						s, labels, class := stream.New("cam"), &taught.Labels{Everyone: n.labels()}, 0
						for episode := range 15 {
							items := n.episode(episode, size)
							for i := range items {
								class = orders[name](n.random, episode, i, class, classes)
								items[i].Vector = n.vector(class)
							}
							_, report, err := s.Answer(t.Context(), nil, items, labels)
							if err != nil {
								t.Fatal(err)
							}
							if report.EmbeddingChanged {
								t.Fatalf("told in episode %d", episode)
							}
						}
					})
				}
			}
		}
	}
}

// evenNetwork is an embedder whose vectors have nothing in common.
func evenNetwork(seed uint64, d, things int) *network {
	n := newNetwork(seed, d, 0)
	clear(n.common)
	for i := range n.scales {
		n.scales[i] = 1
	}
	n.move(things)
	return n
}

// Items of another embedder teach the metric of the one before nothing.
func TestAnotherEmbedderTeachesNoMetric(t *testing.T) {
	n := newNetwork(1, 128, 5)
	other := newNetwork(2, 128, 5)
	s, labels := stream.New("cam"), &taught.Labels{Everyone: n.labels()}
	metric := func() (pieces []stream.Piece) {
		for _, p := range s.State() {
			if p.Name == "scatter" || p.Name == "metric" {
				pieces = append(pieces, p)
			}
		}
		return pieces
	}
	const own = 8 // all of which teach it
	for number := range 25 {
		from, before := n, metric()
		if number >= own {
			from = other
		}
		if _, _, err := s.Answer(t.Context(), nil, from.episode(number, 20), labels); err != nil {
			t.Fatal(err)
		}
		if changed := !reflect.DeepEqual(metric(), before); changed != (number < own) {
			t.Errorf("episode %d: the metric changed: %t", number+1, changed)
		}
	}
}

// Vectors without a common shape, such as whitened ones, are never of a changed embedder: in them the mean of
// an episode shows which classes came.
func TestVectorsWithoutAShape(t *testing.T) {
	const d, classes = 128, 60
	n := &network{random: rand.New(rand.NewPCG(3, 4)), common: make([]float32, d)}
	n.scales = slices.Repeat([]float32{1}, d)
	n.move(classes)
	vector := func(class int) []float32 { return n.around(n.things[class], 1.3) }
	labels := &taught.Labels{}
	for i := range 3 * classes {
		labels.Everyone = append(labels.Everyone, taught.Example{
			ID: fmt.Sprint(i), Label: fmt.Sprint("class-", i%classes), Vector: vector(i % classes),
		})
	}
	for _, size := range []int{8, 60, 100} {
		s := stream.New("s")
		for episode := range 30 {
			items := make([]stream.Item, size)
			for i := range items {
				items[i] = stream.Item{Vector: vector(n.random.IntN(classes))}
			}
			_, report, err := s.Answer(t.Context(), nil, items, labels)
			if err != nil {
				t.Fatal(err)
			}
			if report.Unknown == size && size > 8 || report.EmbeddingChanged {
				t.Fatalf("episode %d of %d items: %d unknown, embedding changed: %t", episode, size, report.Unknown,
					report.EmbeddingChanged)
			}
		}
	}
}
