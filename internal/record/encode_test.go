package record

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// encoding/json decodes an encoded result to the same result, with scores to six decimals.
func TestResultRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		score := rapid.Map(rapid.IntRange(0, 1000000), func(n int) float64 { return float64(n) / 1e6 })
		r := Result{
			ID: text.Draw(t, "id"), ItemID: text.Draw(t, "item"), Stream: text.Draw(t, "stream"),
			Episode: rapid.Int64().Draw(t, "episode"),
			Label:   text.Draw(t, "label"), Confidence: score.Draw(t, "confidence"),
			Calibrated: rapid.Bool().Draw(t, "calibrated"), Unknown: rapid.Bool().Draw(t, "unknown"),
			UnknownScore: score.Draw(t, "unknown score"), Time: time.Unix(rapid.Int64Range(-1e10, 2e11).Draw(t, "s"),
				rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC(),
			Model: text.Draw(t, "model"), Source: ResultSource{
				text.Draw(t, "topic"),
				rapid.Int32().Draw(t, "partition"), rapid.Int64().Draw(t, "offset"),
			},
		}
		for range rapid.IntRange(0, 3).Draw(t, "alternatives") {
			r.Alternatives = append(r.Alternatives, Alternative{text.Draw(t, "other"), score.Draw(t, "less")})
		}
		if rapid.Bool().Draw(t, "with attributes") {
			r.Attributes, _ = json.Marshal(map[string]string{text.Draw(t, "name"): text.Draw(t, "value")})
		}
		b := AppendResult(nil, &r)
		var got Result
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !reflect.DeepEqual(got, r) {
			t.Fatalf("%s\n%+v\n%+v", b, got, r)
		}
	})
}

func TestScores(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", .5: "0.5", .1234567: "0.123457", .9999999: "1",
		12.25: "12.25", math.Inf(1): "0", -.5: "-0.5", 1e9: "1e+09",
	} {
		if got := string(appendScore(nil, x)); got != want {
			t.Errorf("%g: %s, not %s", x, got, want)
		}
	}
	if got := string(appendScore(nil, math.NaN())); got != "0" {
		t.Errorf("NaN: %s", got)
	}
}

// A time is written as package time writes it in UTC. Beyond the years 0 to 9999 it is the nearest of them.
func TestTimesAsText(t *testing.T) {
	first := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Add(-1)
	check := func(t interface{ Errorf(string, ...any) }, when time.Time) {
		if got, want := string(AppendTime(nil, when)), when.UTC().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	for _, n := range []int64{0, 1, 120_000_000, 1e18 + 1} {
		check(t, time.Unix(0, n))
	}
	check(t, first)
	check(t, last)
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(first.Unix(), last.Unix()).Draw(t, "seconds")
		nanoseconds := rapid.OneOf(rapid.Int64Range(0, 999999999), rapid.Map(rapid.Int64Range(0, 999),
			func(n int64) int64 { return n * 1e6 })).Draw(t, "nanoseconds")
		check(t, time.Unix(seconds, nanoseconds))
	})
	if got := NearestTime(first.Add(-1)); !got.Equal(first) {
		t.Errorf("a moment before %v became %v", first, got)
	}
	if got := NearestTime(last.Add(1)); !got.Equal(last.Truncate(time.Second)) {
		t.Errorf("a moment after %v became %v", last, got)
	}
}

func TestTimesBeyondTheFormat(t *testing.T) {
	for _, year := range []int{-5, 12000} {
		b := AppendResult(nil, &Result{Time: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err := json.Unmarshal(b, &Result{}); err != nil {
			t.Errorf("year %d: %v", year, err)
		}
	}
}

// An item of any time can be written as JSON: a dead letter holds the item, and not an error.
func TestItemsBeyondTheYears(t *testing.T) {
	for _, value := range []string{`{"vector":[1],"time":-99999999999}`, `{"vector":[1],"time":null}`} {
		r := rawRecord(value)
		r.Time = time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
		item := one(t, Options{}, r)
		letter := ItemLetter(&item, "", "dead")
		if again := one(t, Options{}, rawRecord(string(letter.Value))); len(again.Vector) != 1 {
			t.Errorf("%s: %s", value, letter.Value)
		}
	}
}

// A review with an added label is an example. An example is read back as it was written.
func TestReviewTeaches(t *testing.T) {
	item := one(t, Options{}, rawRecord(`{"id":"p1","vector":[0.1,2],"attributes":{"image":"x"}}`))
	review := NewReview(&item, &Result{ID: item.Source.ID(), Label: "milk", Confidence: .4})
	var edited map[string]any
	if err := json.Unmarshal(AppendReview(nil, &review), &edited); err != nil {
		t.Fatal(err)
	}
	edited["label"] = "juice"
	b, _ := json.Marshal(edited)
	taught := one(t, Options{}, rawRecord(string(b)))
	if taught.Label != "juice" || taught.ItemID != "item:in/3/42" || taught.Stream != "cam-7" ||
		string(taught.Attributes) != `{"image":"x"}` {
		t.Errorf("%+v", taught)
	}
	checkVector(t, taught.Vector, .1, 2)
}

func TestEpisodeIsJSON(t *testing.T) {
	b := AppendEpisode(nil, &Episode{
		Stream: "s", Episode: 3, Closed: "size", ObjectiveBefore: math.NaN(),
		ObjectiveAfter: -2, Time: when, Events: []string{"cluster-4 born"},
	})
	var e Episode
	if err := json.Unmarshal(b, &e); err != nil || e.ObjectiveAfter != -2 || e.ObjectiveBefore != 0 ||
		e.Events[0] != "cluster-4 born" {
		t.Errorf("%s: %v", b, err)
	}
}

func TestLabelRecords(t *testing.T) {
	d := decoder(t, Options{StreamBy: "partition"})
	as := func(o Out) *Raw {
		return &Raw{Topic: o.Topic, Offset: 7, Key: o.Key, Value: o.Value, Headers: o.Headers, Time: when}
	}
	for _, stream := range []string{"", "cam-7"} {
		l, err := d.DecodeLabel(context.Background(),
			as(Teach("labels", &Example{
				ID: "e1", Stream: stream, Label: "milk", Model: "m",
				Vector: []float32{1, .1},
			})))
		if err != nil || l.Teach == nil || l.Teach.ItemID != "e1" || l.Teach.Stream != stream ||
			l.Teach.Label != "milk" || l.Teach.Model != "m" {
			t.Fatalf("%+v, %v", l.Teach, err)
		}
		checkVector(t, l.Teach.Vector, 1, .1)
	}
	if l, err := d.DecodeLabel(context.Background(), as(Forget("labels", "e1"))); err != nil ||
		l.Forget != "e1" {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := d.DecodeLabel(context.Background(),
		as(ResetRecord("labels", Reset{"cam-7", "milk"}))); err != nil || l.Reset == nil ||
		*l.Reset != (Reset{"cam-7", "milk"}) {
		t.Errorf("%+v, %v", l, err)
	}
	for name, r := range map[string]*Raw{
		"no label": rawRecord(`{"vector":[1,2]}`), "no key": {}, "control": rawRecord(`{}`, ControlHeader,
			"explode"), "reset": rawRecord(`[`, ControlHeader, ControlReset),
		"two": rawRecord(`{"objects":[{"embedding":[1,2],"label":"a"},{"embedding":[1,2],"label":"b"}]}`),
	} {
		if l, err := d.DecodeLabel(context.Background(), r); err == nil {
			t.Errorf("%s: %+v was accepted", name, l)
		}
	}
}

func TestDeadLetter(t *testing.T) {
	r := rawRecord("abcdef", "x", "y", ErrorHeader, "an older reason")
	out := DeadLetter("dead", r, "no vector", 4)
	got := map[string]string{}
	for _, h := range out.Headers {
		got[h.Key] = string(h.Value)
	}
	want := map[string]string{
		"x": "y", ErrorHeader: "no vector", TopicHeader: "in", PartitionHeader: "3",
		OffsetHeader: "42", TimeHeader: string(AppendTime(nil, when)), TruncatedHeader: "true",
	}
	if !reflect.DeepEqual(got, want) || string(out.Value) != "abcd" || string(out.Key) != "cam-7" ||
		!out.Time.IsZero() {
		t.Errorf("%v %q", got, out.Value)
	}
	if whole := DeadLetter("dead", r, "", 0); string(whole.Value) != "abcdef" {
		t.Errorf("%q", whole.Value)
	}
}

func FuzzString(f *testing.F) {
	f.Add("a\"\\\n\x00\xff\u2028é")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		b := appendString(nil, s)
		if err := json.Unmarshal(b, &got); err != nil || utf8.ValidString(s) && got != s {
			t.Errorf("%q: %q, %v", s, b, err)
		}
	})
}

// A result has the member sure only if it was requested.
func TestSureResult(t *testing.T) {
	form, err := ResultTemplate(`{"sure":"${sure}"}`)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	wants := map[*bool]string{nil: "", &yes: `"confidence":0,"sure":true,`, new(bool): `"sure":false,`}
	for said, want := range wants {
		r := &Result{Sure: said}
		text := string(AppendResult(nil, r))
		if !strings.Contains(text, want) || said == nil && strings.Contains(text, "sure") {
			t.Errorf("%s, not with %s", text, want)
		}
		if got, want := string(form.Append(nil, r)), fmt.Sprintf(`{"sure":%t}`, said != nil && *said); got != want {
			t.Errorf("by template %s, not %s", got, want)
		}
	}
}
