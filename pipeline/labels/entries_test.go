package labels

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// What no stage can use is listed with the reason, and still holds, so that it is exported and forgotten.
func TestEntriesThatAreNotUsed(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "labels", 1, nil)
	teach := func(id string, vector ...float32) record.Out {
		return record.Teach(name, &record.Example{ID: id, Label: "anna", Vector: vector})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := client.Write(ctx, []record.Out{
		teach("old", 1, 2), teach("replaced", 1, 2), teach("odd", 1, 2, 3), teach("new", 1, 2),
		teach("replaced", 2, 1),
		record.Not(name, &record.NotThis{ID: "not", Not: []string{"anna"}, Vector: []float32{1, 2, 3}}),
		record.NameRecord(name, &record.Name{Name: "a", Into: "b"}),
		record.NameRecord(name, &record.Name{Name: "b", Into: "a"}),
	}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	entries, err := readEntries(ctx, Options{Client: client, Topic: name, Most: 3, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i := range entries {
		e := &entries[i]
		if e.Holds {
			got[e.Key] = e.Unused
		}
	}
	want := map[string]string{
		"old": "3 others are in force", "odd": "3 numbers, most have 2", "new": "", "replaced": "",
		"not": "3 numbers, most have 2", "name:a": "",
		"name:b": `the name is not in force: "b" leads back to itself over "a"`,
	}
	for key, why := range want {
		if have, holds := got[key]; !holds || have != why {
			t.Errorf("%s: %t, %q, not %q", key, holds, have, why)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q", got)
	}
}

func TestLabelledDimensions(t *testing.T) {
	examples := func(yield func(string, *taught.Example) bool) {
		for _, d := range []int{8, 3, 8, 3, 8} {
			yield("", &taught.Example{Model: "m", Vector: make([]float32, d)})
		}
		yield("", &taught.Example{Model: "n", Vector: make([]float32, 9)})
		yield("", &taught.Example{Model: "n", Vector: make([]float32, 4)})
	}
	most := LabelledDimensions(examples)
	if most["m"] != (LabelledDimension{8, 3}) || most["n"] != (LabelledDimension{4, 1}) {
		t.Errorf("%v", most)
	}
}
