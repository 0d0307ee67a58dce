package link

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// An identity is told once it is new, and then each time when it comes to a stream that has not seen it for a minute, with
// the stream that saw it before. Another link tells again only what the one before may not have told.
func TestSightings(t *testing.T) {
	start := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	one := func(stream string, second int) *record.Cluster {
		at := start.Add(time.Duration(second) * time.Second)
		return &record.Cluster{Stream: stream, Cluster: "cluster-1", Mean: []float32{1, 0}, Items: 9, Seen: at}
	}
	var known []*record.Cluster // something else that all streams see
	for _, stream := range []string{"a", "b", "c"} {
		known = append(known, &record.Cluster{Stream: stream, Cluster: "cluster-2", Mean: []float32{0, 1}, Items: 9, Seen: start})
	}
	l, identity := newLinking("shop", most, nil), ""
	l.restore(nil, known, nil, nil, nil)
	told := func() (list []string) {
		_, sightings, said := l.unsaid("labels", "clusters")
		for _, x := range sightings {
			if x.Cluster != "cluster-1" {
				continue
			}
			if identity == "" {
				identity = x.Identity
			}
			kind, of, _ := strings.Cut(x.Events[0], " ")
			if of != identity || x.Identity != identity {
				t.Errorf("%+v is not of %s", x, identity)
			}
			text := fmt.Sprintf("%s %s in %s at %v", kind, x.Label, x.Stream, x.Time.Sub(start).Seconds())
			if x.Gap != nil {
				text += fmt.Sprintf(", %v after %s", *x.Gap, x.Before)
			}
			list = append(list, text)
		}
		said()
		return list
	}
	for i, c := range []struct {
		see  []*record.Cluster
		want []string
	}{
		{[]*record.Cluster{one("a", 0)}, nil},
		{[]*record.Cluster{one("b", 90)}, []string{"identity-new  in a at 0", "identity-seen  in b at 90, 90 after a"}},
		{[]*record.Cluster{one("b", 100), one("b", 110), one("b", 155)}, nil}, // it stays
		{[]*record.Cluster{one("a", 160)}, []string{"identity-seen  in a at 160, 5 after b"}},
		{[]*record.Cluster{one("a", 170), one("b", 165)}, nil},
		{[]*record.Cluster{one("b", 400)}, []string{"identity-seen  in b at 400, 230 after a"}},
		{[]*record.Cluster{one("c", 390)}, []string{"identity-seen  in c at 390, 220 after a"}}, // it is late
	} {
		l.update(c.see)
		if got := told(); !slices.Equal(got, c.want) {
			t.Errorf("%d: told %q, not %q", i, got, c.want)
		}
	}
	names := []record.Name{{Name: "cluster-1", Stream: "c", Into: "anna", By: "kim"}}
	l.say(names, nil)
	l.update([]*record.Cluster{one("a", 1000)})
	if got := told(); !slices.Equal(got, []string{"identity-seen anna in a at 1000, 600 after b"}) {
		t.Errorf("of a name told %q", got)
	}

	var said []record.Name
	for name, into := range l.said {
		said = append(said, record.Name{Name: name, Into: into, By: record.ByLink})
	}
	known = append(known, one("a", 1000), one("b", 400))
	l = newLinking("shop", most, nil)
	l.restore(known, []*record.Cluster{one("b", 1010), one("c", 1011)}, said, names, nil)
	got := told()
	slices.Sort(got)
	if !slices.Equal(got, []string{"identity-seen anna in b at 1010, 10 after a", "identity-seen anna in c at 1011, 11 after a"}) {
		t.Errorf("after a take-over told %q", got)
	}
	for i := range 3 * mostGone {
		stream := fmt.Sprint("passing-", i)
		l.update([]*record.Cluster{one(stream, 2000+i), {Stream: stream, Cluster: "cluster-1"}})
		if got := told(); len(got) != 1 {
			t.Fatalf("%s: told %q", stream, got)
		}
	}
	for id, streams := range l.seen.last {
		if len(streams) > 3+mostGone {
			t.Errorf("of identity %d %d streams are known", id, len(streams))
		}
	}
	for _, stream := range []string{"a", "b", "c"} {
		for _, cluster := range []string{"cluster-1", "cluster-2"} {
			l.update([]*record.Cluster{{Stream: stream, Cluster: cluster}})
		}
	}
	if len(l.seen.last) != 0 {
		t.Errorf("of identities that are gone %v is kept", l.seen.last)
	}
}
