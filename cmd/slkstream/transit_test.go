package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/solver/identity"
)

func TestTransitFile(t *testing.T) {
	save := saver(t, t.TempDir())
	name := save("ways.csv", `# from, to, least, most

cam-3, cam-1, 20, 300
"till, left",cam-1,1.5
cam-1,cam-2,overlap
*,*,2,
`)
	got, err := readTransit(name)
	want := identity.Transit{
		{"cam-1", "cam-3"}: {Least: 20_000, Most: 300_000}, {"cam-1", "till, left"}: {Least: 1500},
		{"cam-1", "cam-2"}: {Overlap: true}, {"*", "*"}: {Least: 2000},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := readTransit(""); got != nil || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	for text, faults := range map[string][]string{
		"a,b,20\na,b\nc,d,soon\n\nd,e,0.5\ne,f,20,10\ng,h,NaN\nb,a,overlap\n,a,2\na,a,2\na,*,2\ni,j,overlap,2\n": {
			"transit: FILE, line 2: 2 fields: must be STREAM,STREAM,LEAST,MOST or STREAM,STREAM,overlap",
			`transit: FILE, line 3: least is "soon": must be seconds, from 1 to 2592000`,
			`transit: FILE, line 5: least is "0.5"`,
			`transit: FILE, line 6: most is "10": must be seconds, from 20 to 2592000`,
			`transit: FILE, line 7: least is "NaN"`,
			`transit: FILE, line 8: "a" and "b" again: each pair has one line, for both directions`,
			"transit: FILE, line 9: a stream without a name",
			`transit: FILE, line 10: from "a" to itself`,
			"transit: FILE, line 11: * stands for all other streams only if both are *",
			`transit: FILE, line 12: least is "overlap"`,
		},
		"# nothing\n":  {"transit: FILE has no line"},
		"a,b,2\n\"a,b": {"transit: FILE: parse error on line 2"},
	} {
		file := save("bad.csv", text)
		_, err := readTransit(file)
		if err == nil {
			t.Errorf("%q is taken", text)
			continue
		}
		said := strings.ReplaceAll(err.Error(), file, "FILE")
		if len(strings.Split(said, "\n")) != len(faults) {
			t.Errorf("%d faults: %s", len(faults), said)
		}
		for _, fault := range faults {
			if !strings.Contains(said, fault) {
				t.Errorf("without %q: %s", fault, said)
			}
		}
	}
	if _, err := readTransit(name + ".gone"); err == nil || !strings.Contains(err.Error(), "transit: ") {
		t.Errorf("a file that is not there: %v", err)
	}
}
