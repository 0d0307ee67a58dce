package main

import (
	"bytes"
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
