package pipeline

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/link"
)

// Stages of two groups that answer one input to one topic give each item two answers: both say so, and name each other,
// until one of them has gone. One that answers another input, a job, and a stage's own link are nobody's trouble. Who has
// the same state topic is named too.
func TestStagesThatShareATopicAreTold(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	in, elsewhere := brokertest.Topic(t, client, "in", 1, nil), brokertest.Topic(t, client, "elsewhere", 1, nil)
	start := func(change func(*Options)) (s *Stage, stop func()) {
		o := basics(client, in, newFeed(1))
		change(&o)
		s, err := New(client, o)
		if err != nil {
			t.Fatal(err)
		}
		return s, run(t, s)
	}
	watches, now := map[*Stage]*health.Watch{}, time.Now()
	says := func(s *Stage) (troubles, doubts []health.Trouble) { // at its next look at the topics, and at a hundred groups
		w := watches[s]
		if w == nil {
			w = health.NewWatch(s.watched(s.answers.Budget))
			w.Partitions.Assign(topic.TopicPartition{Topic: in}, now)
			watches[s] = w
		}
		now = now.Add(time.Minute)
		w.Ask(context.Background(), now, func(context.Context) {})
		return w.Troubles(), w.Doubts()
	}
	tells := func(list []health.Trouble, what, group string) bool {
		for _, t := range list {
			if strings.Contains(t.What, what) && strings.Contains(t.Cause, "group "+group) {
				return true
			}
		}
		return false
	}
	first, _ := start(func(p *Options) { p.Labels, p.Identities = brokertest.Name("labels"), brokertest.Name("identities") })
	o := &first.options
	eventually(t, "its link is at work", func() bool {
		g, err := client.Group(t.Context(), link.GroupOf(o.Group))
		return err == nil && len(g.Members) > 0 && g.Members[0].UserData != nil
	})
	if _, doubts := says(first); tells(doubts, "another stage", "") {
		t.Errorf("a stage with a link of its own doubts %v", doubts)
	}
	_, stopJob := start(func(p *Options) { p.Group, p.Out = o.Group+".backfill.job", o.Out })
	beside, stopBeside := start(func(p *Options) { p.Out, p.State, p.In = o.Out, o.State, []string{elsewhere} })
	eventually(t, "who has the same state topic is told", func() bool {
		troubles, doubts := says(first)
		for _, t := range troubles {
			if strings.Contains(t.What, "another stage") {
				return false
			}
		}
		return tells(doubts, "state in topic "+o.State, beside.options.Group)
	})
	stopBeside()
	stopJob()
	second, stop := start(func(p *Options) { p.Out = o.Out })
	answers := "another stage answers " + in + " to topic " + o.Out
	told := func(s *Stage, other string) func() bool {
		return func() bool {
			troubles, _ := says(s)
			return tells(troubles, answers, other)
		}
	}
	eventually(t, "the first names the second", told(first, second.options.Group))
	eventually(t, "the second names the first", told(second, o.Group))
	stop()
	eventually(t, "the first has no trouble", func() bool { troubles, _ := says(first); return len(troubles) == 0 })
}
