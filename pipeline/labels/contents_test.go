package labels

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// The examples in force are listed with their authors and pictures: those of the support that the topic does
// not replace, then those of the topic that are neither replaced, taken back nor beyond the bound.
func TestExamplesInForce(t *testing.T) {
	support := []taught.Example{{ID: "s0", Label: "cat", Attributes: []byte(`{"image":0}`)}, {ID: "s1", Label: "cat"}}
	l := New(Options{Support: support, Log: slog.New(slog.DiscardHandler)})
	list := func() (out []string) {
		for e := range l.Examples() {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%s %s %s", e.ID, e.Label, e.By, e.Attributes)))
		}
		return out
	}
	if got := list(); !slices.Equal(got, []string{`s0=cat  {"image":0}`, "s1=cat"}) {
		t.Errorf("before the topic is read: %q", got)
	}
	if counts, _ := l.Counts(); counts["cat"] != 2 {
		t.Errorf("before the topic is read: %v", counts)
	}
	l.options.Most = 2
	records := newHistory(1, l.options.Support, l.options.Most)
	add := func(what record.Label) {
		records.add(0, records.next[0], time.Unix(records.next[0], 0), what)
		records.next[0]++
	}
	teach := func(id, label, by, attributes string) {
		add(record.Label{By: by, Teach: &record.Item{
			ItemID: id, Label: label, Vector: []float32{1},
			Attributes: []byte(attributes),
		}})
	}
	teach("a", "dog", "", "")
	teach("s1", "dog", "jo", strings.Repeat(" ", LongestAttributes+1))
	teach("b", "dog", "jo", `{"n":0}`)
	teach("b", "hen", "jo", `{"n":1}`)
	add(record.Label{Not: &record.NotThis{ID: "r", Not: []string{"cat"}, Vector: []float32{1}}})
	l.show(records)
	if got := list(); !slices.Equal(got, []string{`s0=cat  {"image":0}`, "s1=dog jo", `b=hen jo {"n":1}`}) {
		t.Errorf("two of the topic: %q", got)
	}
	if r := l.Rejections(); len(r) != 1 || r[0].ID != "r" {
		t.Errorf("rejections %v", r)
	}
	if taught, rejected := l.Counts(); taught["cat"] != 1 || taught["hen"] != 1 || rejected["cat"] != 1 {
		t.Errorf("counted %v, rejected %v", taught, rejected)
	}
	if records.attributes != len(`{"n":1}`) {
		t.Errorf("%d bytes of attributes", records.attributes)
	}
	add(record.Label{Forget: "b"})
	l.show(records)
	if got := list(); !slices.Equal(got, []string{`s0=cat  {"image":0}`, "a=dog", "s1=dog jo"}) || records.attributes != 0 {
		t.Errorf("one taken back: %q, %d bytes", got, records.attributes)
	}
}
