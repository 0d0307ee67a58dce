package admin

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
)

// What several streams have seen is listed with each stream's own number of it, and nothing that one stream alone has
// seen; two labels are two things, however alike.
func TestIdentities(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 59))
	const dimension, things = 32, 12
	row := func(about []float32, noise float32) []float32 {
		out := make([]float32, dimension)
		for i := range out {
			out[i] = noise * float32(random.NormFloat64())
			if about != nil {
				out[i] += about[i]
			}
		}
		return out
	}
	var centres [][]float32
	for range things {
		centres = append(centres, row(nil, 1))
	}
	settings := stream.Defaults()
	settings.Discover = true
	// cam-0 and cam-1 see all but the last two things, from another one on; of these, each sees one alone
	thingOf := map[string]map[string]int{}
	var list []Remembered
	for camera := range 2 {
		name := fmt.Sprint("cam-", camera)
		s := stream.New(name, settings)
		thingOf[name] = map[string]int{}
		for round := range 5 {
			var items []stream.Item
			var seen []int
			for i := range things - 1 {
				thing := (i + 5*camera) % (things - 2)
				if i == things-2 {
					thing = things - 2 + camera
				}
				for n := range 4 {
					items = append(items, stream.Item{
						ID: fmt.Sprint(round, i, n), Vector: row(centres[thing], .1),
						Position: stream.Position{Offset: int64(1000*round + 10*i + n), Object: -1},
					})
					seen = append(seen, thing)
				}
			}
			answers, _, err := s.Answer(t.Context(), nil, items, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range answers {
				thingOf[name][a.Class] = seen[i]
			}
		}
		list = append(list, Remembered{Topic: "in", Stream: name, Memory: s.Summary()})
	}
	list = append(list, Remembered{Topic: "in", Stream: "cam-2"}) // nothing saved yet
	check := func(of string, want int) {
		t.Helper()
		found, things := Identities(list, of), map[int64]int{}
		if len(found) != want {
			t.Fatalf("%q: %d clusters %+v, want %d", of, len(found), found, want)
		}
		for _, s := range found {
			thing, known := things[s.Identity]
			if this := thingOf[s.Stream][s.Cluster]; !known {
				things[s.Identity] = this
			} else if thing != this {
				t.Errorf("identity %d is things %d and %d", s.Identity, thing, this)
			}
			if s.Items != 20 {
				t.Errorf("%+v, which has 20 items", s)
			}
		}
		if len(things) != want/2 {
			t.Errorf("%q: %d things, want %d", of, len(things), want/2)
		}
	}
	check("", 2*(things-2))
	check("cam-1", 2*(things-2))
	check("cam-2", 0)
	for camera, label := range []string{"anna", "bob"} {
		clusters := list[camera].Memory.Clusters
		for i := range clusters {
			if thingOf[list[camera].Stream][clusters[i].Cluster] == 0 {
				clusters[i].Label = label
			}
		}
	}
	check("", 2*(things-3))
}
