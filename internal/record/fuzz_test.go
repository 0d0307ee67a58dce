package record

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"testing/quick"

	"github.com/slkstream/slkstream/internal/form"
)

// decodeAll decodes the value with many options. The result must be items that can be solved and encoded, or
// a Rejection.
func decodeAll(t *testing.T, value []byte) {
	options := []Options{
		{},
		{StreamBy: "field:id", Dimension: 2},
		{Paths: Paths{
			Vector: "a[].v",
			ID:     "a[].id", Time: "t", Frame: "f", Attributes: "a[].b", Track: "a[].b.t",
		}},
		{Paths: Paths{Vector: "v.w", Label: "l"}, TrackBy: "object"},
	}
	for _, name := range form.Names() {
		options = append(options, Options{Format: name})
	}
	for _, o := range options {
		d, err := NewDecoder(o)
		if err != nil {
			t.Fatal(err)
		}
		r := rawRecord(string(value))
		items, err := d.Decode(context.Background(), r, nil)
		if err != nil {
			_, rejected := err.(*Rejection)
			if empty, ok := err.(*Empty); !rejected && !(ok && empty.Reason != "") {
				t.Fatalf("%T: %v", err, err)
			}
		}
		for i := range items {
			item := &items[i]
			if bad := CheckVector(item.Vector); bad != nil {
				t.Fatalf("%v", bad)
			}
			b := AppendResult(nil, &Result{
				ID: item.Source.ID(), ItemID: item.ItemID, Stream: item.Stream,
				Label: item.Label, Time: item.Time, Model: item.Model, Attributes: item.Attributes,
			})
			if !json.Valid(b) {
				t.Fatalf("%q", b)
			}
		}
		_, _ = d.DecodeLabel(context.Background(), r)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","stream":"b","time":1,"vector":[1,2],"attributes":{}}`, `{"vector":"AACAPwAAAEA="}`, frameJSON,
		frameProtobuf(), floats(1, 2),
		streamerJSON, `{"a":[{"v":[1,2],"id":"x"}],"t":5}`,
		`{"v":{"w":[1,2]},"l":"x"}`,
		"\x00\x00\x00\x00\x07{\"vector\":[1,2]}", "\x00\x00\x00\x00\x07\x00" + frameProtobuf(),
		`{"specversion":"1.0","id":"1","data":{"vector":[1,2]}}`, `{"specversion":"1.0","data_base64":"AACAPw=="}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(decodeAll)
}

// The scanner accepts exactly the values that encoding/json accepts.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,true,null,"\u00e9\n"]}`, `[01]`, `"\x"`, `{"a":1,}`, `-`, `1.`,
		`[1 2]`, "\"\x01\"", `{}{}`, " [ ] ",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanner{b: b}
		_, ok := s.skip()
		ok = ok && s.end()
		if valid := json.Valid(b); ok != valid && !(s.bad != nil && nested(b) > deepest) {
			t.Errorf("%q: %v, encoding/json says %v (%v)", b, ok, valid, s.bad)
		}
	})
}

func nested(b []byte) (most int) {
	depth := 0
	for _, c := range b {
		switch c {
		case '[', '{':
			depth++
			most = max(most, depth)
		case ']', '}':
			depth--
		}
	}
	return most
}

func checkNumber(t *testing.T, text string) {
	t.Helper()
	got, next, ok := number([]byte(text), 0)
	if !ok || next != len(text) {
		want, err := strconv.ParseFloat(text, 32)
		if err == nil && json.Valid([]byte(text)) {
			t.Fatalf("%s: not read, want %g", text, want)
		}
		return
	}
	want, err := strconv.ParseFloat(text, 32)
	if err != nil || math.Float32bits(got) != math.Float32bits(float32(want)) {
		t.Fatalf("%s: %g, strconv has %g (%v)", text, got, want, err)
	}
}

// number returns the same nearest float32 as strconv, to the last bit, for all formats of printed floats.
func TestNumber(t *testing.T) {
	check := func(bits uint32, near uint64) bool {
		x := math.Float32frombits(bits)
		if x-x != 0 {
			return true
		}
		// Double rounding would show within a few float64 units of the middle between two float32s.
		half := (float64(x) + float64(math.Nextafter32(x, 2*x))) / 2
		half = math.Float64frombits(math.Float64bits(half) + near%9 - 4)
		for _, v := range []float64{float64(x), half, math.Remainder(float64(x), 1)} {
			for _, format := range []byte{'g', 'f', 'e'} {
				for _, digits := range []int{-1, 6, 9, 17, 20} {
					if text := strconv.FormatFloat(v, format, digits, 64); len(text) < 60 {
						checkNumber(t, text)
					}
				}
			}
		}
		checkNumber(t, strconv.FormatFloat(float64(x), 'g', -1, 32))
		return true
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 20000}); err != nil {
		t.Error(err)
	}
	// the usual range of embeddings
	small := func(mantissa uint32, near uint64) bool { return check(mantissa&0x07ffffff|0x38000000, near) }
	if err := quick.Check(small, &quick.Config{MaxCount: 20000}); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		"0", "-0", "1e5", "16777217", "16777219.0", "0.1",
		"123456789012345678901234567890", "1e-46", "3.4028236e38", "1.17549435e-38",
	} {
		checkNumber(t, text)
	}
	for _, text := range []string{"", "-", ".5", "1.", "01", "1e", "1e+", "+1", "NaN"} {
		if _, next, ok := number([]byte(text), 0); ok && next == len(text) {
			t.Errorf("%q was read as a number", text)
		}
	}
}

func FuzzNumber(f *testing.F) {
	f.Add("0.12345678901234567")
	f.Add("-16777217e-3")
	f.Fuzz(func(t *testing.T, text string) {
		if json.Valid([]byte(text)) && len(text) > 0 && (text[0] == '-' || text[0]-'0' <= 9) &&
			text[len(text)-1]-'0' <= 9 {
			checkNumber(t, text)
		}
	})
}
