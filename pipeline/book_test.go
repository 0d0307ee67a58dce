package pipeline

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Whoever reads which partition first, the same word stands.
func TestTheSameWordStands(t *testing.T) {
	now := time.Now()
	teach := func(label string) record.Label {
		return record.Label{Teach: &record.Item{ItemID: "x", Label: label, Vector: []float32{1}}}
	}
	type said struct {
		partition int
		at        time.Time
		what      record.Label
	}
	zero := []said{{0, now.Add(9 * time.Second), teach("early, of a clock that was ahead")}, {0, now, teach("a")}}
	one := []said{{1, now.Add(-time.Second), teach("old")}, {1, now, teach("b")}}
	for _, order := range [][]said{append(append([]said{}, zero...), one...), append(append([]said{}, one...), zero...)} {
		b := (&labels{}).begin(2)
		for i, s := range order {
			b.apply(s.partition, int64(i), s.at, s.what)
		}
		if v := b.view(); len(v.labels.Everyone) != 1 || v.labels.Everyone[0].Label != "b" {
			t.Errorf("%+v stands", v.labels.Everyone)
		}
		b.apply(0, 9, now.Add(time.Second), record.Label{Forget: "x"})
		if v := b.view(); len(v.labels.Everyone) != 0 || len(v.labels.Forgotten) != 1 {
			t.Errorf("%+v stands although forgotten", v.labels.Everyone)
		}
	}
}

// Beyond the most that are in force, those written last are, whatever came first to this process; one that is
// forgotten makes room.
func TestExamplesAreBounded(t *testing.T) {
	now := time.Now()
	b := (&labels{most: 3}).begin(2)
	for i, age := range []int{4, 0, 3, 1, 2} {
		what := record.Label{Teach: &record.Item{ItemID: fmt.Sprint("e", age), Label: "l", Vector: []float32{1}}}
		b.apply(i%2, int64(i), now.Add(-time.Duration(age)*time.Second), what)
	}
	expect := func(leftOut int, ids ...string) {
		t.Helper()
		var got []string
		for _, e := range b.view().labels.Everyone {
			got = append(got, e.ID)
		}
		if !slices.Equal(got, ids) || b.inForce != len(ids) || b.leftOut != leftOut {
			t.Errorf("%v in force, %d left out", got, b.leftOut)
		}
	}
	expect(2, "e0", "e1", "e2")
	b.apply(1, 9, now, record.Label{Forget: "e1"})
	expect(1, "e0", "e2", "e3")
}

// Labels in partitions that the topic gains are read. A label of another dimension than the feed's goes to
// the dead letters, and keeps neither the feed nor the good labels, before it and after it, from their work.
func TestLabelsThatDoNotFit(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(91)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support = nil
	o.Limits = consumer.Limits{Size: 8, Age: time.Hour, Memory: 64 << 20}
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	said := &lines{}
	o.Log = slog.New(slog.NewTextHandler(said, nil))
	teach := func(partition int32, id, label string, vector []float32) {
		out := record.Teach(o.Labels, &record.Example{ID: id, Label: label, Vector: vector})
		out.Partition = partition
		write(t, client, []record.Out{out})
	}
	teach(0, "bad", "class-0", f.vector(0)[:dimension/2])
	for c := range classes - 1 {
		teach(0, fmt.Sprintf("good-%d", c), fmt.Sprintf("class-%d", c), f.vector(c))
	}
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	s.labels.watch = 100 * time.Millisecond
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
	if reason, _ := letters[0].Header(record.ErrorHeader); string(letters[0].Key) != "bad" || !strings.Contains(string(reason), "dimension 32") {
		t.Errorf("letter %q: %q", letters[0].Key, reason)
	}
	if err := client.Grow(t.Context(), o.Labels, 2); err != nil {
		t.Fatal(err)
	}
	eventually(t, "grown", func() bool { return said.count("has more partitions") > 0 })
	teach(1, "gained", fmt.Sprintf("class-%d", classes-1), f.vector(classes-1))
	eventually(t, "read", func() bool { return len(s.labels.current.Load().labels.Everyone) == classes+1 })
	if got := labels(); !got[fmt.Sprintf("class-%d", classes-1)] {
		t.Errorf("labels %v: the partition that was gained is not read", got)
	}
	if n := len(read(t, client, o.Dead, 1)); n > 3 {
		t.Errorf("%d dead letters", n)
	}
}
