package labels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// What a person does counts after all that was there by then, whatever the clocks of the two: in one partition
// by the offset, in several by what was known when it was written. People teach, reject, name, take back and
// forget, each with a clock up to a day wrong, and the labels are as if there was one person and one clock.
func TestClocksDoNotDecide(t *testing.T) {
	const day = 24 * time.Hour
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 56))
		partitions := 1 + random.IntN(4)
		one, many := newHistory(1, nil, 0), newHistory(partitions, nil, 0)
		ends := make(Position, partitions)
		for i := range int64(60) {
			id, class := fmt.Sprint("e", random.IntN(6)), fmt.Sprint("c", random.IntN(4))
			var what record.Label
			switch random.IntN(5) {
			case 0:
				what = record.Label{Name: &record.Name{Name: class}} // forgets it
				what.Key = record.NameKey(class, "")
			case 1:
				into := fmt.Sprint("c", random.IntN(4))
				if into == class {
					continue
				}
				what = record.Label{Name: &record.Name{Name: class, Into: into}, Key: record.NameKey(class, "")}
			case 2:
				what = record.Label{Forget: []string{id, record.NameKey(class, "")}[random.IntN(2)]}
			case 3:
				what = record.Label{Not: &record.NotThis{ID: id, Not: []string{class}, Vector: []float32{1}}}
			default:
				what = teach(id, class)
			}
			one.add(0, i, time.Unix(i, 0), what)
			p := random.IntN(partitions)
			r := many.add(p, ends[p], time.Unix(i, 0).Add(time.Duration(random.Int64N(int64(2*day)))-day), what)
			r.knew = slices.Clone(ends)
			ends[p]++
			if fault := len(one.version(one.root, Position{i + 1}).naming.faults); fault > 0 {
				break // which of two names closes a circle is told, not decided
			}
			want, got := saidAt(one, Position{i + 1}), saidAt(many, ends)
			if !slices.Equal(want, got) {
				t.Fatalf("seed %d, record %d: %v\nwith other clocks: %v", seed, i, want, got)
			}
		}
	}
}

// saidAt returns what holds at a position: examples, names and rejections.
func saidAt(l *history, next Position) (list []string) {
	v := l.version(l.root, next)
	for _, e := range v.Labels.All() {
		list = append(list, e.ID+"="+e.Label)
	}
	for i := range 4 {
		list = append(list, v.naming.names.Of("a", fmt.Sprint("c", i)))
	}
	for r := range v.said.All() {
		if r.Not != nil {
			list = append(list, fmt.Sprint(r.Key, " is not ", r.Not.Not, v.naming.cut("", r.Not.Not[0], r)))
		}
	}
	slices.Sort(list)
	return list
}
