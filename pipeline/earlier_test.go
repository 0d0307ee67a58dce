package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// A new owner corrects items that another process answered before: for names given, taken back or forgotten
// in between or later, and for items that were taught themselves.
func TestNewOwnerCorrectsEarlierAnswers(t *testing.T) {
	t.Parallel()
	for _, exactly := range []bool{false, true} {
		t.Run(fmt.Sprintf("exactly-once=%t", exactly), func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(1)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
			o.Corrections = brokertest.Name("corrections")
			if exactly {
				o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			}
			var feed []record.Out
			const n = 60
			for i := range n {
				feed = append(feed, record.Out{
					Topic: in, Partition: -1, Key: []byte("cam"), Value: encode(f.vector(i % classes)), Time: time.Now(),
				})
			}
			write(t, client, feed)
			own := func() (stop func()) {
				o.Recent = recent.New(1 << 20)
				return start(t, client, o)
			}
			stop := own()
			said := collect(t, client, o.Out, count(n))
			stop()
			now := map[string]record.Correction{}
			var read func()
			called := func(id string) string {
				if c, corrected := now[id]; corrected {
					return c.New.Label
				}
				return said.answers[id][0].Label
			}
			await := func(what string, is func(id, answered string) string) {
				t.Helper()
				wrong := func() (n int) {
					for id, answers := range said.answers {
						if called(id) != is(id, answers[0].Label) {
							n++
						}
					}
					return n
				}
				for wrong() > 0 {
					if read == nil {
						read = followCorrections(t, client, o.Corrections, now)
					}
					read()
				}
			}
			naming := func(from, to string) func(id, answered string) string {
				return func(_, answered string) string {
					if answered == from {
						return to
					}
					return answered
				}
			}
			anna := record.Name{Name: "class-1", Into: "anna", By: "kim"}
			write(t, client, []record.Out{record.NameRecord(o.Labels, &anna)})
			stop = own()
			await("given", naming("class-1", "anna"))
			stop()
			for id, c := range now {
				if c.Cause != (record.Cause{Kind: "renamed", ID: "name:class-1", By: "kim"}) || c.Revision == 0 {
					t.Errorf("%s: %+v", id, c)
				}
			}
			write(t, client, []record.Out{record.Forget(o.Labels, record.NameKey("class-1", ""))})
			stop = own()
			await("taken back", naming("", ""))
			write(t, client, []record.Out{record.NameRecord(o.Labels, &record.Name{Name: "class-2", Into: "bea"})})
			await("given later", naming("class-2", "bea"))
			stop()
			one := fmt.Sprintf("%s/0/%d", in, 8)
			write(t, client, []record.Out{
				record.Teach(o.Labels, &record.Example{ID: one, Label: "carl", Vector: f.vector(0)}),
				record.NameRecord(o.Labels, &record.Name{Name: "bea"}),
			})
			own()
			await("taught and forgotten", func(id, answered string) string {
				if id == one {
					return "carl"
				}
				return naming("class-2", "")(id, answered)
			})
		})
	}
}
