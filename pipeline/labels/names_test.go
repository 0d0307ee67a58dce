package labels

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Names that are forgotten are not compared with every name that was given.
func TestManyNamesAreForgotten(t *testing.T) {
	bytes := func(n int) uint64 {
		list := make([]*Record, 0, 2*n)
		add := func(name record.Name) {
			r := &Record{Label: record.Label{Name: &name}, Offset: int64(len(list)), Written: time.Unix(1, 0)}
			list = append(list, r)
		}
		for i := range n {
			add(record.Name{Name: fmt.Sprint("cluster-", i), Into: fmt.Sprint("name ", i)})
		}
		for i := range n {
			add(record.Name{Name: fmt.Sprint("name ", n/2+i)})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		made := newNaming(list)
		runtime.ReadMemStats(&after)
		if want := n + n/2; len(made.resets) != want {
			t.Errorf("%d resets, not %d", len(made.resets), want)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	bytes(10)
	if one, four := bytes(250), bytes(1000); four > 8*one {
		t.Errorf("250 names take %d bytes, four times as many %d", one, four)
	}
}

// A name that was refused, as it would close a circle, does not come into force when the circle is broken by
// forgetting what it leads to.
func TestForgettingBreaksNoCircle(t *testing.T) {
	var list []*Record
	for _, n := range []record.Name{
		{Name: "anna", Into: "ann", Stream: "cam"}, {Name: "ann", Into: "anna", Stream: "cam"}, {Name: "anna"},
	} {
		at := int64(len(list))
		list = append(list, &Record{Label: record.Label{Name: &n}, Offset: at, Written: time.Unix(1+at, 0)})
	}
	if got := newNaming(list).names.Of("cam", "ann"); got != "ann" {
		t.Errorf("%q", got)
	}
}

// A class that is given a forgotten name later was not forgotten with it: its examples count, streams keep
// what they learned of it, and what was answered before is not dropped.
func TestAForgottenNameIsGivenAgain(t *testing.T) {
	h := newHistory(1, nil, 0)
	for i, l := range []record.Label{
		teach("a", "class-1"),
		{Name: &record.Name{Name: "anna"}, Key: "name:anna"},
		{Name: &record.Name{Name: "class-1", Into: "anna"}, Key: "name:class-1"},
	} {
		h.add(0, int64(i), time.Unix(int64(1+i), 0), l)
	}
	h.next[0] = 3
	v := h.version(h.root, h.next)
	if held := heldBy(v); len(held) != 1 || v.Name("cam", "class-1") != "anna" {
		t.Errorf("%v is in force, class-1 is called %q", held, v.Name("cam", "class-1"))
	}
	if f := v.Forgot(nil, "cam", "class-1"); f != nil {
		t.Errorf("class-1 is forgotten by %+v", f)
	}
	if f := v.Forgot(nil, "cam", "class-1", "anna"); f == nil || v.Forgot(Position{2}, "cam", "anna") != nil {
		t.Errorf("anna is forgotten by %+v", f)
	}
	if r := v.naming.resets; len(r) != 1 || r[0].Reset.Class != "anna" {
		t.Errorf("%+v", r)
	}
}
