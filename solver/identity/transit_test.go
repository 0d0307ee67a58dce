package identity

import "testing"

// What was seen where one thing cannot have been is never one, whatever comes later; where nothing is known, or both streams
// see one place, visits say nothing.
func TestTransit(t *testing.T) {
	apart := Transit{{"a", "b"}: {Least: 20}, {"b", "c"}: {Overlap: true}, {Anywhere, Anywhere}: {Least: 5}}
	soon := Transit{{"a", "b"}: {Least: 20, Most: 60}}
	for name, c := range map[string]struct {
		ways        Transit
		left, right string
		a, b        [][2]int64
		joined      bool
	}{
		"nothing is known":            {nil, "a", "b", [][2]int64{{0, 9}}, [][2]int64{{3, 4}}, true},
		"of these streams":            {soon, "a", "c", [][2]int64{{0, 9}}, [][2]int64{{3, 4}}, true},
		"at the same time":            {apart, "a", "b", [][2]int64{{0, 9}}, [][2]int64{{3, 4}}, false},
		"too fast":                    {apart, "a", "b", [][2]int64{{0, 9}}, [][2]int64{{28, 40}}, false},
		"too fast, the other way":     {apart, "b", "a", [][2]int64{{28, 40}}, [][2]int64{{0, 9}}, false},
		"once too fast":               {apart, "a", "b", [][2]int64{{0, 9}, {100, 101}}, [][2]int64{{60, 61}, {115, 116}}, false},
		"in time":                     {apart, "a", "b", [][2]int64{{0, 9}, {100, 101}}, [][2]int64{{29, 40}}, true},
		"one place":                   {apart, "b", "c", [][2]int64{{0, 9}}, [][2]int64{{3, 4}}, true},
		"other streams":               {apart, "a", "c", [][2]int64{{0, 9}}, [][2]int64{{13, 14}}, false},
		"other streams in time":       {apart, "a", "c", [][2]int64{{0, 9}}, [][2]int64{{14, 14}}, true},
		"the visits of one not known": {apart, "a", "b", nil, [][2]int64{{3, 4}}, true},
		"never soon":                  {soon, "a", "b", [][2]int64{{0, 9}}, [][2]int64{{70, 71}}, false},
		"once soon":                   {soon, "a", "b", [][2]int64{{0, 9}}, [][2]int64{{69, 71}, {990, 991}}, true},
	} {
		settings := Defaults()
		settings.Transit = c.ways
		l := New(settings)
		cluster := func(stream, name string, mean []float32, visits [][2]int64) Cluster {
			return Cluster{Key: Key{Stream: stream, Cluster: name}, Mean: mean, Items: 9, Visits: visits}
		}
		x, y := cluster(c.left, "cluster-1", []float32{1, 0}, c.a), cluster(c.right, "cluster-1", []float32{1, 0}, c.b)
		other := func(stream string) Cluster { return cluster(stream, "cluster-2", []float32{0, 1}, nil) }
		l.Update([]Cluster{x, other(c.left), y, other(c.right)}, nil)
		if joined := l.Of(x.Key) == l.Of(y.Key); joined != c.joined {
			t.Errorf("%s: joined %v", name, joined)
		}
		if l.Of(other(c.left).Key) != l.Of(other(c.right).Key) {
			t.Errorf("%s: clusters without visits are not one", name)
		}
	}

	// What is one stays so when the visits by which it was joined are forgotten, and is parted by one that it cannot have made.
	settings := Defaults()
	settings.Transit = soon
	l := New(settings)
	see := func(stream string, visits ...[2]int64) {
		l.Update([]Cluster{
			{Key: Key{Stream: stream, Cluster: "cluster-1"}, Mean: []float32{1, 0}, Items: 9, Visits: visits},
			{Key: Key{Stream: stream, Cluster: "cluster-2"}, Mean: []float32{0, 1}, Items: 9},
		}, nil)
	}
	one := func() bool {
		return l.Of(Key{Stream: "a", Cluster: "cluster-1"}) == l.Of(Key{Stream: "b", Cluster: "cluster-1"})
	}
	see("a", [2]int64{0, 9})
	see("b", [2]int64{40, 50})
	joined := one()
	if see("a", [2]int64{900, 910}); !joined || !one() {
		t.Errorf("joined %v, and after a visit alone %v", joined, one())
	}
	if see("b", [2]int64{905, 906}); one() {
		t.Error("what was in both at once stays one")
	}
}
