package pipeline

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/health"
)

// A topic whose settings lose what the stage needs is a trouble that names the topic and the command that mends
// it: memory and labels that are deleted, results that replace each other.
func TestSettingsThatLoseDataAreTold(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	folded, deleted := topic.StateSettings(), map[string]string{"cleanup.policy": "delete", "retention.ms": "1000"}
	for what, spoil := range map[string]func(o *Options) (name, mends string){
		"state": func(o *Options) (string, string) {
			o.State = brokertest.Topic(t, client, "state", 1, deleted)
			return o.State, "cleanup.policy=compact"
		},
		"labels": func(o *Options) (string, string) {
			o.Labels = brokertest.Topic(t, client, "labels", 1, deleted)
			return o.Labels, "cleanup.policy=compact"
		},
		"output": func(o *Options) (string, string) {
			o.Out = brokertest.Topic(t, client, "out", 1, folded)
			return o.Out, "cleanup.policy=delete"
		},
		"corrections": func(o *Options) (string, string) {
			o.Corrections = brokertest.Topic(t, client, "corrections", 1, folded)
			return o.Corrections, "cleanup.policy=delete"
		},
	} {
		t.Run(what, func(t *testing.T) {
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, newFeed(1))
			name, mends := spoil(&o)
			s, err := New(client, o)
			if err != nil {
				t.Fatal(err)
			}
			run(t, s)
			eventually(t, "told", func() bool {
				said := s.Metrics().Ready()
				return strings.Contains(said, "topic "+name) && strings.Contains(said, mends)
			})
		})
	}
	for what, c := range map[string]struct {
		settings map[string]string
		mends    string
	}{
		"compacted input":       {folded, "cleanup.policy=delete"},
		"input of an instant":   {map[string]string{"retention.ms": "60000"}, "retention.ms=86400000"},
		"compacted and deleted": {map[string]string{"cleanup.policy": "compact,delete"}, "cleanup.policy=delete"},
	} {
		t.Run(what, func(t *testing.T) {
			in := brokertest.Topic(t, client, "in", 1, c.settings)
			s, err := New(client, basics(client, in, newFeed(1)))
			if err != nil {
				t.Fatal(err)
			}
			run(t, s)
			eventually(t, "told", func() bool {
				return slices.ContainsFunc(s.Metrics().Status().Troubles, func(t health.Trouble) bool {
					return strings.Contains(t.What, in) && strings.Contains(t.Do, c.mends)
				})
			})
			eventually(t, "ready", func() bool { return s.Metrics().Ready() == "" })
		})
	}
	t.Run("as made", func(t *testing.T) {
		o := basics(client, brokertest.Topic(t, client, "in", 1, nil), newFeed(1))
		o.Labels, o.Corrections, o.Review = brokertest.Name("labels"), brokertest.Name("corrections"), brokertest.Name("review")
		s, err := New(client, o)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s)
		eventually(t, "topics are made", func() bool { return s.Metrics().Ready() == "" })
		w := health.NewWatch(s.watched(s.answers.Budget))
		w.Partitions.Assign(topic.TopicPartition{Topic: o.In[0]}, time.Now())
		w.Ask(context.Background(), time.Now(), func(context.Context) {})
		if said := append(w.Troubles(), w.Doubts()...); len(said) > 0 {
			t.Errorf("%+v", said)
		}
	})
}
