package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// Senders' texts reach a terminal without escapes, C1 controls or bidirectional marks.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"cam-7 Ñandú 猫": "cam-7 Ñandú 猫", "\x1b]52;c;aGk=\a": ".]52;c;aGk=.", "a\u009bb": "a.b", "a\u202eb\u2066": "a.b.",
		"\xff\n": "..", "abcdefghijklmnop": "abcdefghijklmnop",
	} {
		if got := printable(text, 100); got != want {
			t.Errorf("%q is shown as %q, not %q", text, got, want)
		}
	}
}

// A row of tail contains no control characters, whatever kind of record holds the text.
func TestTailShowsEscapes(t *testing.T) {
	const escapes = "\u001b]52;c;aGk=\u0007\u009b\u202e"
	quoted := strings.NewReplacer("\u001b", `\u001b`, "\u0007", `\u0007`).Replace(escapes)
	fields := `{"stream":"` + quoted + `","itemId":"` + quoted + `","id":"` + quoted + `",`
	headers := []record.Header{{Key: record.ErrorHeader, Value: []byte(escapes)}}
	for kind, c := range map[string]*record.Raw{
		"result": {Value: []byte(fields + `"label":"` + quoted + `","confidence":1}`)},
		"review": {Value: []byte(fields + `"guess":{"label":"` + quoted + `"}}`)},
		"label":  {Key: []byte(escapes), Value: []byte(`{"label":"` + quoted + `"}`)},
		"letter": {Value: []byte("x"), Headers: headers},
	} {
		var out bytes.Buffer
		p := &tailPrinter{out: &out, table: true}
		if took, err := p.take(c); err != nil || !took {
			t.Fatal(kind, took, err)
		}
		shown := out.String()
		raw := bytes.Buffer{}
		if _, err := (&tailPrinter{out: &raw, table: true, raw: true}).take(c); err != nil ||
			!strings.Contains(raw.String(), "\u202e") {
			t.Error(kind, "raw", err, raw.String())
		}
		if strings.ContainsAny(shown, "\u001b\u0007\u009b\u202e") || !strings.Contains(shown, "52;c;") {
			t.Errorf("%s is shown as %q", kind, shown)
		}
	}
}

// Nor do names of fields that map lists, nor what check says of streams.
func TestMapAndCheckShowEscapes(t *testing.T) {
	const escapes = "\u001b]52;c;aGk=\u0007\u009b\u202e"
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	name, err := json.Marshal(escapes)
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"vector":{%s:[1,2]},%[1]s:[1,2],"id":%[1]s}`, name)
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	_, shown, _ := runLine(t, "map", path)
	var checked bytes.Buffer
	(&checker{out: &checked}).warn("stream %s: %v", escapes, errors.Join(errors.New(escapes), errors.New("and another")))
	for _, text := range []string{shown, checked.String()} {
		if strings.ContainsAny(text, "\u001b\u0007\u009b\u202e") || strings.Count(text, "52;c;") < 2 {
			t.Errorf("shown as %q", text)
		}
	}
	(&checker{out: &checked}).fault("in out", "%v", errors.Join(errors.New("one"), errors.New("two")))
	if !strings.HasSuffix(checked.String(), "\nand another\nFAULT one\ntwo (--in, --out)\n") {
		t.Errorf("lines of an error are %q", checked.String())
	}
}
