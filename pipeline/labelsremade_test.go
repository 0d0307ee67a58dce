package pipeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// The labels topic is deleted, made again with fewer partitions and refilled past its old offsets within a
// second. Every process, whether it ran meanwhile or started later, ends with the labels of the new topic
// alone, and obeys an order to forget that is at an offset that the old topic had passed.
func TestLabelsTopicMadeAgain(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		t.Run(fmt.Sprintf("of %d partitions", partitions), func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(23)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.Support = nil
			o.Limits = consumer.Limits{Size: 1000, Age: time.Hour, Memory: 64 << 20}
			o.Labels = brokertest.Topic(t, client, "labels", partitions, topic.StateSettings())
			teach := func(label string, n int) {
				var records []record.Out
				for i := range n {
					if i%classes == 1 {
						continue // the feed teaches it
					}
					r := record.Teach(o.Labels, &record.Example{
						ID: fmt.Sprint(label, "-", i), Label: fmt.Sprint(label, i%classes), Vector: f.vector(i % classes),
					})
					r.Partition = int32(i % partitions)
					records = append(records, r)
				}
				write(t, client, records)
			}
			o.Watch = 200 * time.Millisecond
			teach("old", 30)
			launch := func() *Stage {
				s, err := New(client, o)
				if err != nil {
					t.Fatal(err)
				}
				run(t, s)
				return s
			}
			first := launch()
			so := 0
			r := f.records(in, 1, 1)[0]
			r.Key, r.Value = []byte("a"), encode(f.vector(1))
			r.Headers = []record.Header{{Key: "label", Value: []byte("own")}, {Key: record.MarkerHeader}}
			write(t, client, []record.Out{r})
			so++
			collect(t, client, o.Out, count(so))
			before := first.labels.Current().Next
			remove(t, client, o.Labels)
			for ; ; time.Sleep(10 * time.Millisecond) {
				d := topic.Description{Name: o.Labels, Partitions: 1, Settings: topic.StateSettings()}
				if client.Create(t.Context(), d) == nil {
					break
				}
			}
			partitions = 1
			write(t, client, []record.Out{record.ResetRecord(o.Labels, record.Reset{Stream: "a"})})
			teach("new", 40)
			second := launch()
			var want []string
			for i := range 40 {
				if i%classes == 1 {
					continue
				}
				want = append(want, fmt.Sprintf("new-%d=new%d", i, i%classes))
			}
			slices.Sort(want)
			for i, s := range []*Stage{first, second} {
				eventually(t, fmt.Sprintf("process %d has the new labels alone", i+1), func() bool {
					got := inForce(s.labels.Current().Labels)
					slices.Sort(got)
					return slices.Equal(got, want)
				})
				v, err := s.labels.At(t.Context(), before, nil)
				if err != nil || v != s.labels.Current() {
					t.Errorf("process %d: what old labels taught is not learned again by the new ones: %v", i+1, err)
				}
			}
			for _, r := range answer(t, client, f, in, o.Out, "a", 1, 10, &so) {
				if r.Label == "own" {
					t.Errorf("%s is %q, which was to be forgotten", r.ID, r.Label)
				}
			}
		})
	}
}

func inForce(labels *taught.Labels) (ids []string) {
	for _, e := range labels.All() {
		ids = append(ids, e.ID+"="+e.Label)
	}
	return ids
}
