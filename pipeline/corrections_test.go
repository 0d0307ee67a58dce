package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// A new label corrects the items that were answered otherwise, under the keys of their results, and its
// tombstone takes that back, in every delivery mode.
func TestCorrections(t *testing.T) {
	t.Parallel()
	for _, exactly := range []bool{false, true} {
		t.Run(fmt.Sprintf("exactly-once=%t", exactly), func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(1)
			in := brokertest.Topic(t, client, "in", 1, nil)
			labels := brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
			o := basics(client, in, f)
			o.Labels, o.Corrections, o.Recent = labels, brokertest.Name("corrections"), recent.New(1<<20)
			if exactly {
				o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			}
			// A stage that does not know class 3 takes its items for class 2.
			o.Support = o.Support[:0:0]
			for c := range 3 {
				o.Support = append(o.Support, taught.Example{
					ID: fmt.Sprint("s", c), Label: fmt.Sprintf("class-%d", c), Vector: f.vector(c),
				})
			}
			mixed := func() []float32 {
				v := f.vector(3)
				v[2] += 2
				return v
			}
			const n = 40
			var feed []record.Out
			vectors := map[string][]float32{}
			for i := range n {
				v := f.vector(i % 3)
				if i%4 == 3 {
					v = mixed()
				}
				vectors[fmt.Sprintf("%s/0/%d", in, i)] = v
				feed = append(feed, record.Out{
					Topic: in, Partition: -1, Key: []byte("cam"), Value: encode(v), Time: time.Now(),
				})
			}
			write(t, client, feed)
			start(t, client, o)
			said := collect(t, client, o.Out, count(n))
			asked := fmt.Sprintf("%s/0/%d", in, 3)
			taught := record.Example{ID: asked, Label: "class-3", Vector: vectors[asked]}
			write(t, client, []record.Out{record.Teach(labels, &taught)})
			now := map[string]record.Correction{}
			read := followCorrections(t, client, o.Corrections, now)
			for now[asked].New.Label != "class-3" {
				read()
			}
			for id, c := range now {
				if c.Old.Label != said.answers[id][0].Label || c.New.Label != "class-3" ||
					c.Cause != (record.Cause{Kind: "taught", ID: asked}) || c.Revision == 0 {
					t.Errorf("%+v, answered %+v", c, said.answers[id][0])
				}
			}
			anna := record.Name{Name: "class-3", Into: "anna", By: "kim"}
			write(t, client, []record.Out{record.NameRecord(labels, &anna)})
			for now[asked].New.Label != "anna" {
				read()
			}
			cause := record.Cause{Kind: "renamed", ID: "name:class-3", By: "kim"}
			if c := now[asked]; c.Old.Label != "class-3" || c.Cause != cause {
				t.Errorf("renamed: %+v", c)
			}
			write(t, client, []record.Out{record.Forget(labels, record.NameKey("class-3", ""))})
			for now[asked].New.Label != "class-3" {
				read()
			}
			write(t, client, []record.Out{record.Forget(labels, asked)})
			for now[asked].Cause.Kind != "forgotten" {
				read()
			}
			for id, c := range now {
				if c.New.Label != said.answers[id][0].Label || c.Cause.Kind != "forgotten" {
					t.Errorf("taken back: %+v, answered %+v", c, said.answers[id][0])
				}
			}
			forgotten, called := record.Name{Name: "class-2", By: "kim"}, 0
			for _, answers := range said.answers {
				if answers[0].Label == "class-2" {
					called++
				}
			}
			write(t, client, []record.Out{record.NameRecord(labels, &forgotten)})
			cause = record.Cause{Kind: "forgotten", ID: "name:class-2", By: "kim"}
			for left := called; left > 0; {
				read()
				left = called
				for id, c := range now {
					if c.Cause != cause {
						continue
					}
					left--
					found := o.Recent.Find(id)[id].Vector != nil
					if said.answers[id][0].Label != "class-2" || c.New != (record.Called{}) || found {
						t.Errorf("forgotten: %+v, still there: %t", c, found)
					}
				}
			}
		})
	}
}

// followCorrections returns a function that reads on in a topic of corrections and updates the last
// correction of each ID.
func followCorrections(t *testing.T, client *topic.Client, name string, into map[string]record.Correction) func() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	reader := client.NewReader(topic.ReaderSettings{Topic: name, MaxWait: 50 * time.Millisecond})
	return func() {
		b, err := reader.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Records {
			var c record.Correction
			if err := json.Unmarshal(b.Records[i].Value, &c); err != nil || string(b.Records[i].Key) != "cam" {
				t.Fatalf("%s: %q: %v", b.Records[i].Key, b.Records[i].Value, err)
			}
			if c.Revision < into[c.ID].Revision {
				t.Errorf("revision %d after %d of %s", c.Revision, into[c.ID].Revision, c.ID)
			}
			into[c.ID] = c
		}
	}
}

// Items of a forgotten name leave the recent items even of a stage that writes no corrections, and even if
// the name was given to another name.
func TestForgottenItemsAreFoundNoMore(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(1)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Labels, o.Recent = brokertest.Topic(t, client, "labels", 1, topic.StateSettings()), recent.New(1<<20)
	const n = 60
	write(t, client, f.records(in, 1, n))
	start(t, client, o)
	said := collect(t, client, o.Out, count(n))
	kept := func() (left map[string]int) {
		left = map[string]int{}
		for id, answers := range said.answers {
			if o.Recent.Find(id)[id].Vector != nil {
				left[answers[0].Label]++
			}
		}
		return left
	}
	all := kept()
	if len(all) < 2 || all["class-0"] == 0 {
		t.Fatalf("kept: %v", all)
	}
	anna := record.Name{Name: "class-0", Into: "anna"}
	write(t, client, []record.Out{
		record.NameRecord(o.Labels, &anna), record.NameRecord(o.Labels, &record.Name{Name: "anna"}),
	})
	eventually(t, "forgotten", func() bool { return kept()["class-0"] == 0 })
	left := kept()
	for class, n := range all {
		if class != "class-0" && left[class] != n {
			t.Errorf("%d of %d items of %s are left", left[class], n, class)
		}
	}
}
