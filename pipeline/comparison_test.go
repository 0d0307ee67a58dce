package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/backfill"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Answering a range again with the current labels corrects only results and earlier corrections that differ,
// even if processes share the job and one is stopped in the middle. A second job finds no differences.
func TestCorrectARange(t *testing.T) {
	t.Parallel()
	for _, exactly := range []bool{false, true} {
		t.Run(fmt.Sprintf("exactly-once=%t", exactly), func(t *testing.T) { correctARange(t, exactly) })
	}
}

func correctARange(t *testing.T, exactly bool) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(5)
	in := brokertest.Topic(t, client, "in", 4, nil)
	const n = 3000
	write(t, client, f.records(in, 12, n))
	o := basics(client, in, f)
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	o.Limits = consumer.Limits{Size: 30, Age: 10 * time.Second, Idle: time.Second, Memory: 64 << 20}
	last := o.Support[len(o.Support)-1].Label
	var hidden []taught.Example
	known := o.Support[:0:0]
	for _, e := range o.Support {
		if e.Label == last {
			hidden = append(hidden, e)
		} else {
			known = append(known, e)
		}
	}
	o.Support = known
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if _, err := fill(ctx, client, o, backfill.Job{Name: "first", From: "earliest", To: "latest"}); err != nil {
		t.Fatal(err)
	}
	first := collect(t, client, o.Out, count(n))
	now := map[string]record.Called{}
	for id, answers := range first.answers {
		now[id] = record.Called{Label: answers[0].Label, Confidence: answers[0].Confidence}
	}
	for _, e := range hidden {
		example := record.Example{ID: e.ID, Label: e.Label, Vector: e.Vector}
		write(t, client, []record.Out{record.Teach(o.Labels, &example)})
	}
	// A person names items of three classes eve, by the key of their place or the id of their result.
	var named []string
	for id, answers := range first.answers {
		if a := answers[0]; len(named) < 3 && a.Confidence < 1 && a.Label == fmt.Sprintf("class-%d", len(named)) {
			example := record.Example{ID: record.ItemKey(id), Label: "eve", Vector: f.vector(len(named))}
			if len(named) == 1 {
				example.ID = id
			}
			write(t, client, []record.Out{record.Teach(o.Labels, &example)})
			named = append(named, id)
		}
	}
	// One item has an earlier correction, whose label differs from its present one.
	o.Corrections = brokertest.Topic(t, client, "corrections", 2, nil)
	wrong := fmt.Sprintf("%s/0/0", in)
	early := record.Correction{ID: wrong, Old: now[wrong], New: record.Called{Label: "a mistake"}}
	write(t, client, []record.Out{early.Out(o.Corrections, []byte(first.answers[wrong][0].Stream))})
	now[wrong] = early.New

	compared := func(job string, dry bool) Options {
		o := o
		o.Group, o.State = o.Group+job, o.Group+job+"-state"
		o.Delivery, o.Eager = &producer.AtLeastOnce{Client: client, Log: o.Log}, true
		if exactly {
			o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
		}
		o.Compare = &backfill.Comparison{DryRun: dry}
		return o
	}
	b := backfill.Job{Name: "again", From: "earliest", To: "latest"}
	if _, err := fill(ctx, client, compared("dry", true), b); err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithCancel(ctx)
	defer stop()
	cutShort := b
	cutShort.Progress = func(int64, int64) { stop() }
	_, err := fill(short, client, compared("it", false), cutShort)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	done := make(chan error, 2)
	shared := []Options{compared("it", false), compared("it", false)}
	for _, o := range shared {
		go func() {
			_, err := fill(ctx, client, o, b)
			done <- err
		}()
	}
	for range shared {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}

	// A job that writes results answers the range with the current labels, for comparison.
	plain := o
	plain.Group, plain.Out, plain.State = brokertest.Name("group"), brokertest.Name("out"), ""
	b.Name = "plain"
	if _, err := fill(ctx, client, plain, b); err != nil {
		t.Fatal(err)
	}
	want := collect(t, client, plain.Out, count(n))
	written, differences := lastCorrections(t, client, o.Corrections), map[backfill.Relabelled]int64{}
	for id, c := range written {
		if c.Old.Label != now[id].Label || c.Old.Label == c.New.Label || c.Revision == 0 || c.Time.IsZero() ||
			c.Cause != (record.Cause{Kind: "answered again", ID: "again"}) {
			t.Errorf("%+v, called %+v before", c, now[id])
		}
		differences[backfill.Relabelled{Was: c.Old.Label, Is: c.New.Label}]++
		now[id] = c.New
	}
	for id, answers := range want.answers {
		if now[id].Label != answers[0].Label {
			t.Errorf("%s is called %q, and answered %q", id, now[id].Label, answers[0].Label)
		}
	}
	for _, id := range named {
		if now[id].Label != "eve" {
			t.Errorf("%s is called %q, a person called it eve", id, now[id].Label)
		}
	}
	if len(written) < n/20 || len(named) < 3 {
		t.Errorf("only %d corrections", len(written))
	}
	for _, o := range shared {
		changes, _, unknown := o.Compare.Differences()
		if changes != nil && !maps.Equal(changes, differences) || unknown > 0 {
			t.Errorf("%v, not %v; %d without a result", changes, differences, unknown)
		}
	}
	dry := compared("second", true)
	b.Name = "later"
	if _, err := fill(ctx, client, dry, b); err != nil {
		t.Fatal(err)
	}
	if changes, seen, _ := dry.Compare.Differences(); len(changes) > 0 || seen != n {
		t.Errorf("a second job finds %v in %d items", changes, seen)
	}
}

// lastCorrections returns the last correction of each ID in a topic that a comparison wrote.
func lastCorrections(t *testing.T, client *topic.Client, name string) map[string]record.Correction {
	t.Helper()
	out := map[string]record.Correction{}
	for p := range int32(2) {
		for r, err := range client.All(t.Context(), topic.TopicPartition{Topic: name, Partition: p}) {
			if err != nil {
				t.Fatal(err)
			}
			var c record.Correction
			if err := json.Unmarshal(r.Value, &c); err != nil {
				t.Error(err)
			}
			if c.Cause.Kind != "" {
				out[c.ID] = c
			}
		}
	}
	return out
}
