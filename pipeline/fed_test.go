package pipeline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/backfill"
)

// correcting returns the options of a stage that is taught and corrects recent items, with its input and feed.
func correcting(t *testing.T) (client *topic.Client, f *feed, in string, o Options) {
	client, f = brokertest.Connect(t, brokertest.Brokers(t)), newFeed(1)
	in = brokertest.Topic(t, client, "in", 1, nil)
	o = basics(client, in, f)
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	o.Corrections, o.Recent = brokertest.Name("corrections"), recent.New(1<<20)
	return client, f, in, o
}

// An item whose own record carried a label is what a person calls it later, by the key of its stream and id, or of
// its place: recent results are corrected, a later range is answered so, and taking the
// person's label back brings the record's again.
func TestPeopleCorrectWhatTheFeedLabelled(t *testing.T) {
	t.Parallel()
	client, f, in, o := correcting(t)
	const n, withID, without, byPlace = 40, 5, 9, 17
	var feed []record.Out
	vectors := map[int][]float32{}
	for i := range n {
		vectors[i] = f.vector(i % classes)
		out := record.Out{Topic: in, Partition: -1, Key: []byte("cam"), Value: encode(vectors[i]), Time: time.Now()}
		switch i {
		case withID, byPlace:
			out.Headers = append(out.Headers, record.Header{Key: "id", Value: fmt.Append(nil, "crop-", i)})
			fallthrough
		case without:
			out.Headers = append(out.Headers, record.Header{Key: "label", Value: []byte("the feed's")})
		}
		feed = append(feed, out)
	}
	write(t, client, feed)
	stop := start(t, client, o)
	said := collect(t, client, o.Out, count(n))
	keys := map[string]string{}
	for i, key := range map[int]string{
		withID: "stream:cam/crop-5", without: fmt.Sprintf("item:%s/0/%d", in, without), byPlace: fmt.Sprintf("item:%s/0/%d", in, byPlace),
	} {
		id := fmt.Sprintf("%s/0/%d", in, i)
		if got := said.answers[id][0].Label; got != "the feed's" {
			t.Fatalf("%s: %s", id, got)
		}
		keys[id] = key
		write(t, client, []record.Out{
			record.Teach(o.Labels, &record.Example{ID: key, Stream: "cam", Label: "a person's", Vector: vectors[i], By: "kim"}),
		})
	}
	now := map[string]record.Correction{}
	read := followCorrections(t, client, o.Corrections, now)
	await := func(label, kind string) {
		t.Helper()
		for id, key := range keys {
			for now[id].New.Label != label {
				read()
			}
			if c := now[id].Cause; c.Kind != kind || c.ID != key {
				t.Errorf("%s: %+v", id, now[id])
			}
		}
	}
	await("a person's", "taught")
	stop()

	again := o
	again.Recent, again.Group, again.State = nil, brokertest.Name("group"), ""
	again.Compare = &backfill.Comparison{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := fill(ctx, client, again, backfill.Job{Name: "again", From: "earliest", To: "latest"}); err != nil {
		t.Fatal(err)
	}
	changes, _, _ := again.Compare.Differences()
	for change := range changes {
		if change.Was == "a person's" || change.Is == "the feed's" {
			t.Errorf("answered again: %v", changes)
		}
	}
	start(t, client, o)
	for _, key := range keys {
		write(t, client, []record.Out{record.Forget(o.Labels, key)})
	}
	await("the feed's", "forgotten")
}

// A new owner knows which of its predecessor's items carried their labels: a person's label under the stream and id corrects
// them, one given while nobody owned the partition, and one given later.
func TestNewOwnersCorrectWhatTheFeedLabelled(t *testing.T) {
	t.Parallel()
	client, f, in, o := correcting(t)
	const n = 40
	var feed []record.Out
	for i := range n {
		out := record.Out{Topic: in, Partition: -1, Key: []byte("cam"), Value: encode(f.vector(i % classes)), Time: time.Now()}
		out.Headers = append(out.Headers, record.Header{Key: "id", Value: fmt.Append(nil, "crop-", i)})
		if i < 2 {
			out.Headers = append(out.Headers, record.Header{Key: "label", Value: []byte("the feed's")})
		}
		feed = append(feed, out)
	}
	write(t, client, feed)
	stop := start(t, client, o)
	collect(t, client, o.Out, count(n))
	stop()
	now := map[string]record.Correction{}
	read := followCorrections(t, client, o.Corrections, now)
	for i := range 2 {
		key, id := fmt.Sprint("stream:cam/crop-", i), fmt.Sprintf("%s/0/%d", in, i)
		write(t, client, []record.Out{
			record.Teach(o.Labels, &record.Example{ID: key, Stream: "cam", Label: "a person's", Vector: f.vector(0), By: "kim"}),
		})
		if i == 0 {
			o.Recent = recent.New(1 << 20)
			start(t, client, o)
		}
		for now[id].New.Label != "a person's" {
			read()
		}
		if c := now[id]; c.Cause.Kind != "taught" || c.Cause.ID != key || c.Old.Label != "the feed's" {
			t.Errorf("%s: %+v", id, c)
		}
	}
}
