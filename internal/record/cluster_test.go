package record

import (
	"reflect"
	"testing"
	"time"
)

func sampleCluster() Cluster {
	return Cluster{
		Stream: "gate/2", Cluster: "cluster-17", Label: "anna", Model: "clip", Mean: []float32{.5, -.25, .125}, Items: 40,
		Seen: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Item: "in/0/42", Apart: []string{"cluster-3"},
	}
}

func TestClusterComesBack(t *testing.T) {
	c := sampleCluster()
	out := c.Record("clusters")
	got, err := DecodeCluster(&Raw{Key: out.Key, Value: out.Value})
	if err != nil || !reflect.DeepEqual(*got, c) {
		t.Fatalf("%+v, not %+v (%v)", got, c, err)
	}
	gone := NoCluster("clusters", c.of(), c.Cluster)
	got, err = DecodeCluster(&Raw{Key: gone.Key})
	if err != nil || got.of() != c.of() || got.Cluster != c.Cluster || got.Mean != nil {
		t.Errorf("gone: %+v (%v)", got, err)
	}
	for _, out := range []Out{FromLink(out, 7), FromLink(gone, 7)} {
		for offset, byLink := range map[int64]bool{9: true, 8: true, 7: false, 2: false} {
			got, err := DecodeCluster(&Raw{Offset: offset, Key: out.Key, Value: out.Value, Headers: out.Headers})
			if err != nil || got.ByLink != byLink || got.AsOf != min(offset, 7) {
				t.Errorf("the link's at %d: as of %d, by the link %v (%v)", offset, got.AsOf, got.ByLink, err)
			}
		}
	}
}

func FuzzCluster(f *testing.F) {
	c := sampleCluster()
	out := c.Record("clusters")
	f.Add(out.Key, out.Value)
	f.Add([]byte("cam/cluster-1"), []byte{})
	f.Add([]byte("cam"), []byte(`{"cluster":"","mean":"AA=="}`))
	f.Add([]byte("cam/c"), []byte(`{"stream":"cam","cluster":"c","mean":"AHwAfA=="}`))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		c, err := DecodeCluster(&Raw{Key: key, Value: value})
		if err != nil {
			if _, rejected := err.(*Rejection); !rejected {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if len(value) == 0 {
			return
		}
		if bad := CheckVector(c.Mean); bad != nil || len(c.Apart) > MostApart {
			t.Fatalf("%+v was taken: %v", c, bad)
		}
		out := c.Record("clusters")
		if again, err := DecodeCluster(&Raw{Key: out.Key, Value: out.Value}); err != nil || again.Stream != c.Stream {
			t.Fatalf("%+v comes back as %+v (%v)", c, again, err)
		}
	})
}

// A name gives back its cluster, or it is refused: of no two clusters the names are the same.
func TestClusterNames(t *testing.T) {
	parts := []string{"", "a", "a/b", "cluster-1", "a/cluster-1", "x/cluster-1/y", "/", "a%2Fb"}
	names := map[string][3]string{}
	for _, group := range []string{"shop", "a/b", "a", "a%2Fb"} {
		for _, stream := range parts {
			for _, model := range parts {
				of, is := StreamID{stream, model}, [3]string{group, stream, model}
				name := InGroup(group, ClusterName(of, "cluster-1"))
				if !FitsCluster(group, of, "cluster-1") {
					continue
				}
				if other, taken := names[name]; taken {
					t.Errorf("%q is both %v and %v", name, is, other)
				}
				names[name] = is
			}
		}
	}
	if len(names) < 4*len(parts) {
		t.Errorf("only %d clusters have a name", len(names))
	}
}
