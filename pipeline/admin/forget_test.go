package admin

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Forgetting a name takes back all labels with it and leaves the rest. Afterwards none of them is in force,
// and forgetting it again takes back nothing.
func TestForgetTakesBackAllThatWasCalledSo(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "labels", 2, topic.StateSettings())
	v := []float32{1, 2}
	write := func(records []record.Out) { // as all do: each record knows what was there, in whichever millisecond that was written
		t.Helper()
		if err := labels.Write(t.Context(), client, records); err != nil {
			t.Fatal(err)
		}
	}
	write([]record.Out{
		record.Teach(name, &record.Example{ID: "a", Label: "anna", Vector: v, By: "kim"}),
		record.Teach(name, &record.Example{ID: "c", Label: "cluster-17", Vector: v}),
		record.Teach(name, &record.Example{ID: "b", Label: "ben", Vector: v}),
		record.Not(name, &record.NotThis{ID: "x", Not: []string{"anna", "ben"}, Vector: v}),
		record.Not(name, &record.NotThis{ID: "y", Not: []string{"anna"}, Vector: v}),
		record.NameRecord(name, &record.Name{Name: "cluster-17", Into: "anna"}),
		// Of two streams, each of which has numbered its clusters, only one calls this one so.
		record.NameRecord(name, &record.Name{Name: "cluster-3", Into: "anna", Stream: "yard"}),
		record.Teach(name, &record.Example{ID: "yard", Label: "cluster-3", Vector: v, Stream: "yard"}),
		record.Teach(name, &record.Example{ID: "cam", Label: "cluster-3", Vector: v, Stream: "cam"}),
	})
	write([]record.Out{record.NameRecord(name, &record.Name{Name: "anna", Into: "ann"})})
	// Not in force, as it closes a circle, but it has the name.
	write([]record.Out{record.NameRecord(name, &record.Name{Name: "ann", Into: "anna"})})
	entries := func() []labels.Entry {
		t.Helper()
		entries, err := labels.ReadEntries(t.Context(), client, name, record.Options{}, slog.Default())
		if err != nil {
			t.Fatal(err)
		}
		return entries
	}
	f := newForgetting(name, entries(), record.Name{Name: "anna"})
	if f.examples != 3 || f.rejections != 2 || f.names != 4 ||
		!slices.Equal(f.called(), []string{"anna", "cluster-17", "cluster-3"}) {
		t.Errorf("%+v", f)
	}
	write(f.records)
	var left []string
	for _, e := range entries() {
		if e.Holds && e.Forget == "" {
			left = append(left, e.Key)
		}
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{"b", "cam", "name:anna", "x"}) {
		t.Errorf("%v holds", left)
	}
	// What had the name stays forgotten: the record that forgets it says so, and another one repeats it, until
	// something is said of the class again.
	for _, called := range []int{2, 2, 1} {
		if called == 1 {
			write([]record.Out{record.Teach(name, &record.Example{ID: "d", Label: "cluster-17", Vector: v})})
		}
		again := newForgetting(name, entries(), record.Name{Name: "anna"})
		if again.examples+again.rejections+again.names != 0 {
			t.Errorf("%+v", again)
		}
		write(again.records)
		for _, e := range entries() {
			if e.Holds && e.Key == "name:anna" && len(e.Name.Called) != called {
				t.Errorf("%+v is called so, not %d classes", e.Name.Called, called)
			}
		}
	}
}

func TestUntil(t *testing.T) {
	for retention, want := range map[string]string{
		"-1": "for ever", "9223372036854775807": "for ever", "4000000000000": "for ever", "x": "for ever",
		"604800000": " UTC and a segment more",
	} {
		got := until(map[string]string{"cleanup.policy": "delete", "retention.ms": retention})
		if !strings.Contains(got, want) {
			t.Errorf("retention.ms %s: %s", retention, got)
		}
	}
}

// A name that more classes had than the record that forgets them can hold is not forgotten in part: the error
// says what to do, and doing it helps.
func TestForgetMoreClassesThanARecordHolds(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	settings := topic.StateSettings()
	settings["max.message.bytes"] = "2000"
	name := brokertest.Topic(t, client, "labels", 1, settings)
	const classes = 100
	for i := range classes {
		n := record.Name{Name: fmt.Sprintf("a cluster of the market square, number %d", i), Into: "anna"}
		if err := client.Write(t.Context(), []record.Out{record.NameRecord(name, &n)}); err != nil {
			t.Fatal(err)
		}
	}
	forget := func(what string) error {
		n := record.Name{Name: what}
		_, err := ForgetName(t.Context(), client, name, "no-state", nil, nil, n, slog.Default())
		return err
	}
	err := forget("anna")
	for _, help := range []string{"max.message.bytes", "number 99"} {
		if !strings.Contains(fmt.Sprint(err), help) {
			t.Fatal(err)
		}
	}
	entries, err := labels.ReadEntries(t.Context(), client, name, record.Options{}, slog.Default())
	if err != nil || len(entries) != classes {
		t.Fatalf("%d records, %v", len(entries), err)
	}
	for i := 10; i < classes; i++ {
		if err := forget(entries[i].Name.Name); err != nil {
			t.Fatal(err)
		}
	}
	if err := forget("anna"); err != nil {
		t.Error(err)
	}
}

// A name that only examples of the support have is forgotten: the receipt counts those in force and says that their
// files still hold them. Once forgotten nothing is called so, and another name of the support stays.
func TestForgetWhatOnlyTheSupportHas(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "labels", 1, nil)
	v := []float32{1, 2}
	replaced := []record.Out{record.Teach(name, &record.Example{ID: "s3", Label: "ben", Vector: v})}
	if err := client.Write(t.Context(), replaced); err != nil {
		t.Fatal(err)
	}
	support := []taught.Example{
		{ID: "s1", Label: "anna", Vector: v},
		{ID: "s2", Label: "anna", Vector: v},
		{ID: "s3", Label: "anna", Vector: v},
		{ID: "s4", Label: "carla", Vector: v},
	}
	forget := func() ([]record.Receipt, error) {
		return ForgetName(t.Context(), client, name, "no-state", nil, support, record.Name{Name: "anna"}, slog.Default())
	}
	receipt, err := forget()
	counted := func(r record.Receipt) bool {
		return r.Where == "files of --support" && strings.HasPrefix(r.What, "2 examples")
	}
	if err != nil || !slices.ContainsFunc(receipt, counted) {
		t.Errorf("%v, %v", receipt, err)
	}
	inForce, err := labels.Read(t.Context(), client, name, record.Options{}, support, slog.Default())
	if err != nil || inForce.Len() != 2 {
		t.Errorf("%d examples in force, %v", inForce.Len(), err)
	}
	if receipt, err := forget(); !errors.Is(err, record.ErrNoName) {
		t.Errorf("forgotten again: %v, %v", receipt, err)
	}
}
