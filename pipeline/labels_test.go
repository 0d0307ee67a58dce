package pipeline

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// answer feeds one episode of n items of a class and returns the label of each.
func answer(t *testing.T, client *topic.Client, f *feed, in, out, key string, class, n int, so *int) []record.Result {
	t.Helper()
	var records []record.Out
	for i := range n {
		r := f.records(in, 1, 1)[0]
		r.Key, r.Headers = []byte(key), nil
		r.Value = encode(f.vector(class))
		if i == n-1 {
			r.Headers = []record.Header{{Key: record.MarkerHeader}}
		}
		records = append(records, r)
	}
	write(t, client, records)
	*so += n
	s := collect(t, client, out, count(*so))
	last := make([]record.Result, 0, n)
	newest := int64(0)
	for _, answers := range s.answers {
		if r := answers[0]; r.Stream == key {
			newest = max(newest, r.Episode)
		}
	}
	for _, answers := range s.answers {
		if r := answers[0]; r.Stream == key && r.Episode == newest {
			last = append(last, r)
		}
	}
	if len(last) != n {
		t.Fatalf("%d answers in episode %d of %s, not %d", len(last), newest, key, n)
	}
	return last
}

func all(t *testing.T, what string, results []record.Result, label string) {
	t.Helper()
	for _, r := range results {
		if r.Label != label {
			t.Errorf("%s: %s is %q (%.2f, unknown %v), not %q", what, r.ID, r.Label, r.Confidence, r.Unknown, label)
		}
	}
}

// labelsRead waits until the stage has read the labels topic, of so many partitions, to its end.
func labelsRead(t *testing.T, s *Stage, partitions int) {
	t.Helper()
	for p := range partitions {
		end, err := s.client.Offset(t.Context(), s.options.Labels, int32(p), topic.Latest, false)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "read", func() bool {
			next := s.labels.Current().Next
			return len(next) > p && next[p] >= end
		})
	}
}

// Labels taught, corrected and taken back while the stage runs are in force from the next episode.
func TestLabelsTopic(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(3)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support = nil
	o.Limits = consumer.Limits{Size: 1000, Age: time.Hour, Memory: 64 << 20}
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	teach := func(id, stream, label string, class int) {
		write(
			t,
			client,
			[]record.Out{record.Teach(o.Labels, &record.Example{ID: id, Stream: stream, Label: label, Vector: f.vector(class)})},
		)
	}
	for c := range classes {
		for i := range 3 {
			teach(fmt.Sprintf("e%d-%d", c, i), "", fmt.Sprintf("class-%d", c), c)
		}
	}
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	so := 0
	all(t, "taught before the start", answer(t, client, f, in, o.Out, "a", 1, 10, &so), "class-1")

	for i := range 3 {
		teach(fmt.Sprintf("e1-%d", i), "", "renamed", 1)
	}
	labelsRead(t, s, 1)
	all(t, "corrected", answer(t, client, f, in, o.Out, "a", 1, 10, &so), "renamed")

	for i := range 3 {
		teach(fmt.Sprintf("mine-%d", i), "b", "only-b", 2)
		write(t, client, []record.Out{record.Forget(o.Labels, fmt.Sprintf("e2-%d", i))})
	}
	labelsRead(t, s, 1)
	all(t, "for one stream", answer(t, client, f, in, o.Out, "b", 2, 10, &so), "only-b")
	for _, r := range answer(t, client, f, in, o.Out, "a", 2, 10, &so) {
		if r.Label == "class-2" || r.Label == "only-b" {
			t.Errorf("%s is %q, which was forgotten or is another stream's", r.ID, r.Label)
		}
	}
}

// A reset order is applied to a stream's memory once. A stage started later does not apply it again.
func TestResetOrder(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(4)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support = nil
	o.Limits = consumer.Limits{Size: 1000, Age: time.Hour, Memory: 64 << 20}
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	watch := &watcher{}
	o.Observer = watch
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	so := 0
	// Taught by the feed, so only the stream's memory holds it.
	r := f.records(in, 1, 1)[0]
	r.Key, r.Value = []byte("a"), encode(f.vector(1))
	r.Headers = []record.Header{{Key: "label", Value: []byte("own")}, {Key: record.MarkerHeader}}
	write(t, client, []record.Out{r})
	so++
	collect(t, client, o.Out, count(so))
	all(t, "taught inline", answer(t, client, f, in, o.Out, "a", 1, 10, &so), "own")
	write(t, client, []record.Out{record.ResetRecord(o.Labels, record.Reset{Stream: "a"})})
	labelsRead(t, s, 1)
	for _, r := range answer(t, client, f, in, o.Out, "a", 1, 10, &so) {
		if r.Label == "own" {
			t.Errorf("%s is %q after the reset", r.ID, r.Label)
		}
	}
	r.Value = encode(f.vector(1))
	write(t, client, []record.Out{r})
	so++
	collect(t, client, o.Out, count(so))
	stop()
	start(t, client, o)
	all(t, "after a restart the old reset counts no more", answer(t, client, f, in, o.Out, "a", 1, 10, &so), "own")
}

// Names, rejections and forgotten names are in force from the next episode, in a running process and in one
// that starts later. After they are taken back, answers are as before. Names that cannot be in force go to
// the dead letters.
func TestNamesOnTheLabelsTopic(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(17)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support = nil
	o.Limits = consumer.Limits{Size: 1000, Age: time.Hour, Memory: 64 << 20}
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	for c := range classes {
		for i := range 3 {
			write(t, client, []record.Out{record.Teach(o.Labels, &record.Example{
				ID: fmt.Sprintf("e%d-%d", c, i), Label: fmt.Sprintf("class-%d", c), Vector: f.vector(c),
			})})
		}
	}
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	so := 0
	say := func(r record.Out) {
		t.Helper()
		write(t, client, []record.Out{r})
		end, err := client.Offset(t.Context(), o.Labels, 0, topic.Latest, false)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "read", func() bool { return s.labels.Current().Next[0] >= end })
	}
	labels := func(class int) []record.Result { return answer(t, client, f, in, o.Out, "a", class, 10, &so) }
	name := func(n record.Name) record.Out { return record.NameRecord(o.Labels, &n) }
	all(t, "before", labels(1), "class-1")
	say(name(record.Name{Name: "class-1", Into: "anna", By: "kim"}))
	say(name(record.Name{Name: "class-2", Into: "anna", Stream: "a"}))
	all(t, "renamed", labels(1), "anna")
	all(t, "merged in one stream", labels(2), "anna")
	say(name(record.Name{Name: "anna", Into: "class-1"}))
	letters := read(t, client, o.Dead, 1)
	reason, _ := letters[0].Header(record.ErrorHeader)
	if !strings.Contains(string(reason), "leads back to itself") {
		t.Errorf("a circle: %q", reason)
	}
	all(t, "the circle changes nothing", labels(1), "anna")
	say(record.Forget(o.Labels, record.NameKey("anna", "")))
	say(record.Forget(o.Labels, record.NameKey("class-2", "a")))
	all(t, "undone", labels(2), "class-2")
	say(name(record.Name{Name: "anna"}))
	for _, r := range labels(1) {
		if r.Label == "anna" || r.Label == "class-1" {
			t.Errorf("%s is %q, which was forgotten", r.ID, r.Label)
		}
	}
	stop()
	if s, err = New(client, o); err != nil {
		t.Fatal(err)
	}
	run(t, s)
	for _, r := range labels(1) {
		if r.Label == "anna" || r.Label == "class-1" {
			t.Errorf("%s is %q after a restart", r.ID, r.Label)
		}
	}
	say(record.Teach(o.Labels, &record.Example{ID: "again", Label: "anna", Vector: f.vector(1)}))
	all(t, "a later example brings the name back", labels(1), "anna")
	say(record.Forget(o.Labels, record.NameKey("anna", "")))
	if got := s.labels.Current().Labels.Len(); got != 3*classes+1 {
		t.Errorf("%d examples, once the name is not forgotten any more", got)
	}
	v := f.vector(3)
	say(record.Not(o.Labels, &record.NotThis{ID: "x", Not: []string{"class-3"}, Stream: "a", Vector: v}))
	again := func() record.Result {
		write(t, client, []record.Out{{
			Topic: in, Key: []byte("a"), Value: encode(v), Headers: []record.Header{{Key: record.MarkerHeader}},
		}})
		so++
		c := collect(t, client, o.Out, count(so))
		return c.answers[record.Source{Topic: in, Offset: int64(so - 1), Object: -1}.ID()][0]
	}
	if r := again(); r.Label == "class-3" {
		t.Errorf("%q, which was rejected", r.Label)
	}
	all(t, "others are as they were", labels(3), "class-3")
	say(record.Forget(o.Labels, "x"))
	all(t, "taken back", []record.Result{again()}, "class-3")
}

// Labels in partitions added to the topic are read. A label of another dimension than the feed's goes to the
// dead letters and affects neither the feed nor the good labels before and after it.
func TestLabelsThatDoNotFit(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(91)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support = nil
	o.Watch = 100 * time.Millisecond
	o.Limits = consumer.Limits{Size: 8, Age: time.Hour, Memory: 64 << 20}
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	said := &lines{}
	o.Log = slog.New(slog.NewTextHandler(said, nil))
	teachIn := func(partition int32, id, label string, vector []float32) {
		out := record.Teach(o.Labels, &record.Example{ID: id, Label: label, Vector: vector})
		out.Partition = partition
		write(t, client, []record.Out{out})
	}
	teachIn(0, "bad", "class-0", f.vector(0)[:dimension/2])
	for c := range classes - 1 {
		teachIn(0, fmt.Sprintf("good-%d", c), fmt.Sprintf("class-%d", c), f.vector(c))
	}
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	all := 0
	labels := func() map[string]bool {
		t.Helper()
		records := make([]record.Out, 8)
		for i := range records {
			records[i] = record.Out{Topic: in, Partition: 0, Key: []byte("cam"), Value: encode(f.vector(i % classes))}
		}
		write(t, client, records)
		all += len(records)
		got := collect(t, client, o.Out, count(all))
		found := map[string]bool{}
		for i := all - 8; i < all; i++ {
			for _, a := range got.answers[record.Source{Topic: in, Offset: int64(i), Object: -1}.ID()] {
				found[a.Label] = true
			}
		}
		return found
	}
	if got := labels(); !got["class-0"] || !got["class-1"] || !got["class-2"] {
		t.Errorf("labels %v", got)
	}
	letters := read(t, client, o.Dead, 1)
	reason, _ := letters[0].Header(record.ErrorHeader)
	if string(letters[0].Key) != "bad" || !strings.Contains(string(reason), "dimension 32") {
		t.Errorf("letter %q: %q", letters[0].Key, reason)
	}
	if err := client.Grow(t.Context(), o.Labels, 2); err != nil {
		t.Fatal(err)
	}
	eventually(t, "grown", func() bool { return said.count("has more partitions") > 0 })
	teachIn(1, "gained", fmt.Sprintf("class-%d", classes-1), f.vector(classes-1))
	eventually(t, "read", func() bool { return s.labels.Current().Labels.Len() == classes+1 })
	if got := labels(); !got[fmt.Sprintf("class-%d", classes-1)] {
		t.Errorf("labels %v: the partition that was gained is not read", got)
	}
	if n := len(read(t, client, o.Dead, 1)); n > 3 {
		t.Errorf("%d dead letters", n)
	}
}
