package identity

import (
	"fmt"
	"reflect"
	"testing"
)

// Clusters that are compared ahead get the identities that they get without, whatever comes between.
func TestAheadChangesNoAnswer(t *testing.T) {
	spared := 0
	for seed := range uint64(100) {
		w := newWorld(seed, 8, 5, .6)
		settings := Defaults()
		settings.Limit, settings.Most = []float64{.3, .6}[seed%2], 5+int(seed%40)
		known, ids := w.all(), []int64{}
		for range known { // of which some are of one identity that do not belong together
			ids = append(ids, 1+w.random.Int64N(20))
		}
		alone, ahead := New(settings), New(settings)
		alone.Restore(known, ids)
		ahead.Restore(known, ids)
		var list []Cluster
		var labelled []Labelled
		for range 120 {
			c := w.cluster(w.random.IntN(len(w.offsets)), w.random.IntN(len(w.things)))
			c.Items = int64(1 + w.random.IntN(50))
			labelled = append(labelled, Labelled{Stream: c.Stream, Label: c.Cluster, Vector: c.Mean})
			if w.random.IntN(6) == 0 { // one of another model, or one that becomes another thing
				c.Model, c.Cluster = []string{"", "other"}[w.random.IntN(2)], fmt.Sprint("cluster-", w.random.IntN(12))
			}
			list = append(list, c)
		}
		for i := range list {
			if w.random.IntN(10) == 0 {
				ahead.Ahead(list[i:min(i+1+w.random.IntN(2*Block), len(list))])
			}
			for _, g := range ahead.groups {
				if len(g.ahead) > 0 && ahead.farAhead(g, 0) {
					spared++
				}
			}
			var ended []Key
			between, other := w.random.IntN(16), known[w.random.IntN(len(known))].Key
			var changes [2][]Change
			for at, l := range []*Linker{alone, ahead} {
				switch between {
				case 0:
					l.Reject(list[i].Key, other)
				case 1:
					l.Name(other, "anna")
				case 2:
					l.Call(l.Of(other), "bob")
				case 3, 4, 5, 6:
					ended = []Key{other}
				case 7:
					if err := l.Learn(labelled[:i/2]); err != nil {
						t.Fatal(err)
					}
				}
				changes[at] = l.Update(list[i:i+1], ended)
			}
			if !reflect.DeepEqual(changes[0], changes[1]) {
				t.Fatalf("seed %d, step %d: changes %v, ahead %v", seed, i, changes[0], changes[1])
			}
		}
	}
	if spared == 0 {
		t.Error("nothing is known ahead")
	}
}
