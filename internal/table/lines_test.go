package table

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// A row of JSON Lines keeps all of its line but vectors: also what is beside the vector in an object or in a
// list's element, and nothing of the other elements.
func TestLinesKeepWhatIsAroundTheVector(t *testing.T) {
	for _, row := range []struct {
		name, vector, line string
		keeps              []string // by row
	}{
		{"flat", "feat", `{"id":"a","feat":[1,2],"camera":"door","box":[1,2,3,4]}`, []string{`camera="door" box=[1,2,3,4]`}},
		{"usual", "", `{"id":"a","vector":[1,2],"camera":"door"}`, []string{`camera="door"`}},
		{"another vector", "feat", `{"feat":[1,2],"embedding":[3]}`, []string{`embedding=[3]`}},
		{
			"object", "payload.feat", `{"payload":{"feat":[1,2],"camera":"door","at":{"x":1}},"v":2}`,
			[]string{`payload={"camera":"door","at":{"x":1}} v=2`},
		},
		{"deeper", "a.b.feat", `{"a":{"z":0,"b":{"feat":[1,2]},"y":1}}`, []string{`a={"z":0,"b":{},"y":1}`}},
		{"dot in a name", `a\.b.feat`, `{"a.b":{"feat":[1,2],"c":3}}`, []string{`a.b={"c":3}`}},
		{
			"list", "p.dets[].feat", `{"id":"f","p":{"dets":[ {"uid":"u","feat":[1,2]}, {"feat":[3,4],"uid":"w"} ],"camera":"door"}}`,
			[]string{`id="f" p={"dets":[{"uid":"u"}],"camera":"door"}`, `id="f" p={"dets":[{"uid":"w"}],"camera":"door"}`},
		},
		{
			"lists in a list", "f[].d[].feat", `{"f":[{"n":1,"d":[{"feat":[1,2],"u":1}]},{"n":2},{"n":3,"d":[{"feat":[3,4],"u":2}]}]}`,
			[]string{`f=[{"n":1,"d":[{"u":1}]}]`, `f=[{"n":3,"d":[{"u":2}]}]`},
		},
		{"list of vectors", "feats[]", `{"feats":[[1,2],[3,4]],"camera":"door"}`, []string{`feats=[] camera="door"`, `feats=[] camera="door"`}},
		{
			"frame", "", `{"sensorId":"s","id":"f","objects":[{"id":"1"},{"id":"2","embedding":{"vector":[1,2]},"colour":"red"}]}`,
			[]string{`sensorId="s" id="f" objects=[{"id":"2","colour":"red"}]`},
		},
		{
			"streamer", "", `{"source":"rtsp","objects":[{"x":1,"colour":"red","tensors":[{"model_name":"reid","data":[1,2]}]}]}`,
			[]string{`source="rtsp" objects=[{"x":1,"colour":"red"}]`},
		},
		{
			"event", "", `{"specversion":"1.0","id":"e","source":"s","type":"t","data":{"vector":[1,2],"camera":"door"}}`,
			[]string{`specversion="1.0" source="s" type="t" data={"camera":"door"}`},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.jsonl")
			if err := os.WriteFile(path, []byte(row.line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			source, err := Open(path, Reading{Fields: record.Paths{Vector: row.vector}, Keep: true})
			if err != nil {
				t.Fatal(err)
			}
			defer source.Close()
			var keeps []string
			for {
				of, err := source.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				var kept []string
				for i, value := range of.Kept {
					if value != nil {
						kept = append(kept, source.Kept[i].Name+"="+string(value.(json.RawMessage)))
					}
				}
				keeps = append(keeps, strings.Join(kept, " "))
			}
			if !slices.Equal(keeps, row.keeps) {
				t.Errorf("keeps %q, not %q", keeps, row.keeps)
			}
		})
	}
}
