package reuse

import "testing"

type memory struct{ used bool }

// What is given back is taken again; more than a few are not kept.
func TestList(t *testing.T) {
	var l List[memory]
	first := l.Take()
	first.used = true
	l.Give(first)
	if again := l.Take(); again != first {
		t.Error("what was given back is not taken again")
	}
	if another := l.Take(); another == first || another.used {
		t.Error("one that is in use is taken again")
	}
	for range 2 * most {
		l.Give(&memory{used: true})
	}
	kept := 0
	for l.Take().used {
		kept++
	}
	if kept != most {
		t.Errorf("%d are kept, not %d", kept, most)
	}
}

// What is given back holds nothing of its last use, nor what was beyond its length.
func TestEmptied(t *testing.T) {
	full := []*memory{{}, {}, {}}
	if left := Emptied(full[:1]); len(left) != 0 || full[0] != nil || full[2] != nil {
		t.Errorf("%v are left of %v", left, full)
	}
	bytes := []byte("abc")
	if left := Spoiled(bytes[:1]); len(left) != 0 || spoils && (bytes[0] == 'a' || bytes[2] == 'c') {
		t.Errorf("%q is left", bytes)
	}
}
