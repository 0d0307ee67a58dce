package taught

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNamesAreFollowed(t *testing.T) {
	names, faults := NewNames([]Name{
		{"", "cluster-1", "a"},
		{"", "a", "anna"},
		{"cam", "a", "alba"},
		{"", "anna", "cluster-1"},
		{"cam", "alba", "cluster-1"},
		{"", "b", "x"},
		{"", "b", "y"},
		{"cam", "anna", "ben"},
	})
	for _, c := range []struct{ stream, class, called string }{
		{"", "cluster-1", "anna"},
		{"", "a", "anna"},
		{"", "anna", "anna"},
		{"other", "a", "anna"},
		{"cam", "cluster-1", "alba"},
		{"cam", "a", "alba"},
		{"cam", "anna", "ben"},
		{"", "b", "y"},
		{"", "nobody's", "nobody's"},
	} {
		if got := names.Of(c.stream, c.class); got != c.called {
			t.Errorf("%s in %q is called %s, not %s", c.class, c.stream, got, c.called)
		}
	}
	for i, fault := range faults {
		if refused := i == 3 || i == 4; refused != errors.Is(fault, ErrName) {
			t.Errorf("%d: %v", i, fault)
		}
	}
	if got := (*Names)(nil).Of("cam", "a"); got != "a" {
		t.Error(got)
	}
}

// TestNamesHaveNoCircles: whatever names are given, every chain ends, each name refused would make a circle
// or too long a chain, and refused names change nothing.
func TestNamesHaveNoCircles(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var list []Name
		for range random.IntN(60) {
			n := Name{"", fmt.Sprint(random.IntN(20)), fmt.Sprint(random.IntN(20))}
			if random.IntN(3) == 0 {
				n.Stream = fmt.Sprint("s", random.IntN(3))
			}
			if n.Name != n.Into {
				list = append(list, n)
			}
		}
		names, faults := NewNames(list)
		again, _ := NewNames(slices.Clone(list))
		var good []Name
		for i, fault := range faults {
			later := func(n Name) bool { return n.Stream == list[i].Stream && n.Name == list[i].Name }
			if fault == nil && !slices.ContainsFunc(list[i+1:], later) {
				good = append(good, list[i])
			}
		}
		without, none := NewNames(good)
		for _, fault := range none {
			if fault != nil {
				t.Fatalf("seed %d: refused among those in force: %v", seed, fault)
			}
		}
		for _, s := range []string{"", "s0", "s1", "s2"} {
			for c := range 20 {
				class := fmt.Sprint(c)
				got := names.Of(s, class) // ends
				if got != again.Of(s, class) || got != without.Of(s, class) {
					t.Fatalf("seed %d: %s is called %s or %s", seed, class, got, without.Of(s, class))
				}
			}
		}
	}
}

// TestNamesAreBounded: names are bounded in number and in the length of a chain, which may grow
// at either end.
func TestNamesAreBounded(t *testing.T) {
	var forward, backward, many []Name
	for i := range 3 * chainMost {
		forward = append(forward, Name{"", fmt.Sprint(i), fmt.Sprint(i + 1)})
	}
	backward = slices.Clone(forward)
	slices.Reverse(backward)
	for i := range namesMost + 5 {
		many = append(many, Name{"", fmt.Sprint("from ", i), "into"})
	}
	for what, list := range map[string][]Name{"forward": forward, "backward": backward} {
		names, faults := NewNames(list)
		refused := 0
		for _, fault := range faults {
			if fault != nil {
				refused++
			}
		}
		if refused == 0 || refused > 4 {
			t.Errorf("%s: %d refused", what, refused)
		}
		for i := range list {
			steps, at := 0, fmt.Sprint(i)
			for {
				next, ok := names.next("", at)
				if !ok {
					break
				}
				if at, steps = next, steps+1; steps > chainMost {
					t.Fatalf("%s: a chain of more than %d", what, chainMost)
				}
			}
		}
	}
	_, faults := NewNames(many)
	if faults[namesMost-1] != nil || faults[namesMost] == nil {
		t.Error(faults[namesMost-1:])
	}
}

// TestTheClassIsTheLikeliestOfItsName: the class before names is one of those of the name that answers, even
// if another class by itself is likelier, and of these the likeliest.
func TestTheClassIsTheLikeliestOfItsName(t *testing.T) {
	label := func(c int) string { return fmt.Sprint("class ", c) }
	random := rand.New(rand.NewPCG(1, 8))
	for range 1000 {
		classes, row := make([]string, 5), make([]float32, 5)
		var names []Name
		for c := range classes {
			classes[c], row[c] = label(c), float32(random.IntN(4))
			if random.IntN(2) == 0 {
				names = append(names, Name{"", label(c), fmt.Sprint("name ", random.IntN(2))})
			}
		}
		inForce, _ := NewNames(names)
		in := (&Labels{}).With(Changes{Names: inForce}).For("cam")
		n := in.Rename(classes)
		if n == nil {
			continue
		}
		class := int32(slices.Index(row, slices.Max(row)))
		at, of, shares, _ := n.Answer(class, row, .5)
		if in.Called(classes[of]) != n.Names[at] || shares[at] != slices.Max(shares) {
			t.Fatalf("%v of %v: class %d, which is not %s", names, row, of, n.Names[at])
		}
		for c, v := range row {
			if in.Called(classes[c]) == n.Names[at] && v > row[of] {
				t.Fatalf("%v of %v: class %d, but %d is likelier", names, row, of, c)
			}
		}
	}
}
