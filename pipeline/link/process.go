// Package link says which clusters of all streams are one thing. An extension, Publisher, publishes the clusters of a
// partition's streams; of all processes of the stage one, chosen by a consumer group, reads them and writes what it
// finds to the labels topic. Streams answer and learn as without it.
package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/identity"
)

// Settings say what the link works with.
type Settings struct {
	Client   *topic.Client
	Delivery producer.Delivery
	Stage    string                 // its group
	Group    consumer.GroupSettings // of the link; its topic is that of clusters
	Topic    string                 // of labels
	Episodes string                 // topic of episodes, where sightings are told; "": none
	Labels   *labels.Topic
	Most     int              // identities
	Transit  identity.Transit // in milliseconds
	Log      *slog.Logger
}

// GroupOf returns the group of the link of a stage.
func GroupOf(stage string) string { return stage + "-link" }

// Run takes part in the group, and links clusters while the group chooses this process. It returns once ctx ends.
func Run(ctx context.Context, s Settings) {
	err := consumer.Work(ctx, s.Client, s.Group, s.Log, s.own)
	if err != nil && ctx.Err() == nil {
		s.Log.Error("clusters are not linked by this process", "error", err)
	}
}

// own links clusters while this process owns the partition.
func (s *Settings) own(ctx context.Context, a consumer.Assignment) error {
	outage := s.Client.Outage(s.Log, "linking clusters")
	for a.Partition == 0 && ctx.Err() == nil { // all clusters are in the first
		err := s.hold(ctx, a, outage.Over)
		if ctx.Err() != nil {
			break
		}
		s.Log.Warn("the link begins again", "error", err)
		if errors.Is(err, producer.ErrFenced) {
			_ = topic.Pause(ctx, 2*s.Group.Longest()) // the group revokes the partition within a session
		} else if outage.Wait(ctx, err) != nil {
			break
		}
	}
	<-ctx.Done()
	return nil
}

// hold is one ownership. works is called after each commit.
func (s *Settings) hold(ctx context.Context, a consumer.Assignment, works func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v\n%s", p, debug.Stack())
		}
	}()
	committer, committed, err := s.Delivery.Claim(ctx, producer.Claim{
		Group: s.Group.ID, Topic: a.Topic, Partition: a.Partition, Generation: a.Generation,
		Out: []string{s.Topic, s.Episodes},
	})
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, committer.Close(closing))
	}()
	h := &holding{Settings: s, linking: newLinking(s.Stage, s.Most, s.Transit), committer: committer, at: a.TopicPartition}
	next, err := h.begin(ctx, committed)
	if err != nil {
		return err
	}
	works()
	return h.follow(ctx, next, works)
}

// holding is what an ownership works with.
type holding struct {
	*Settings
	*linking
	committer producer.Committer
	at        topic.TopicPartition
	version   *labels.Version // the last that was taken in
	spans     []topic.Span    // of the labels topic, after the last commit
}

// begin takes in all clusters and names that there are. committed is the offset up to which clusters were linked before.
// It returns the offset of the next one.
func (h *holding) begin(ctx context.Context, committed int64) (next int64, err error) {
	for {
		if h.spans, err = h.Client.SpansOf(ctx, true, h.Topic); err != nil {
			return 0, err
		}
		if h.version = h.Labels.Current(); h.version.Covers(h.spans) {
			break
		}
		if err := topic.Pause(ctx, 20*time.Millisecond); err != nil {
			return 0, err
		}
	}
	first, end, err := h.Client.Bounds(ctx, h.at.Topic, h.at.Partition, true)
	if err != nil {
		return 0, err
	}
	found := topicOfClusters{at: map[identity.Key]int{}}
	for r, err := range h.Client.Records(ctx, topic.Span{TopicPartition: h.at, From: first, To: end}) {
		if err != nil {
			return 0, err
		}
		if c := h.decode(r); c != nil {
			found.add(c, r.Offset < committed)
		}
	}
	h.restore(found.known, found.since, h.version.Identities(h.Stage), h.Labels.Names(), h.Labels.Rejections())
	h.Log.Info("this process links clusters", "clusters", len(h.clusters), "identities", len(h.told))
	return end, h.commit(ctx, end, true)
}

// topicOfClusters is what a link that begins finds in the topic.
type topicOfClusters struct {
	known, since []*record.Cluster    // that an earlier link took in, the last of each, and all since
	at           map[identity.Key]int // of what is known
}

func (t *topicOfClusters) add(c *record.Cluster, known bool) {
	if !known {
		t.since = append(t.since, c)
	} else if at, is := t.at[keyOf(c)]; !is {
		t.at[keyOf(c)] = len(t.known)
		t.known = append(t.known, c)
	} else if c.AsOf >= t.known[at].AsOf {
		t.known[at] = c
	}
}

func (h *holding) decode(r *record.Raw) *record.Cluster {
	c, err := record.DecodeCluster(r)
	if err != nil {
		h.Log.Warn("a record of the topic of clusters cannot be used", "topic", h.at.Topic, "offset", r.Offset, "error", err)
		return nil
	}
	return c
}

// follow takes in clusters and names as they come.
func (h *holding) follow(ctx context.Context, next int64, works func()) error {
	reader := h.Client.NewReader(topic.ReaderSettings{Topic: h.at.Topic, Partition: h.at.Partition, Offset: next})
	for {
		b, err := reader.Read(ctx)
		if err != nil {
			return err
		}
		var list []*record.Cluster
		for i := range b.Records {
			if c := h.decode(&b.Records[i]); c != nil {
				list = append(list, c)
			}
		}
		h.update(list)
		if err := h.hear(ctx); err != nil {
			return err
		}
		moved := b.Next > next
		next = b.Next
		if err := h.commit(ctx, next, moved); err != nil {
			return err
		}
		works()
		select {
		case err := <-h.committer.Failed():
			return err
		default:
		}
	}
}

// hear takes in another version of the labels, once it has what was written.
func (h *holding) hear(ctx context.Context) error {
	v := h.Labels.Current()
	if v == h.version {
		return nil
	}
	if !v.Covers(h.spans) { // it comes, unless the topic was made again
		now, err := h.Client.SpansOf(ctx, true, h.Topic)
		if err != nil || !v.Covers(now) {
			return err
		}
		h.spans = now
	}
	h.version = v
	h.topicHas(v.Identities(h.Stage))
	h.say(h.Labels.Names(), h.Labels.Rejections())
	return nil
}

// commit writes what is unsaid, and the offset of the next cluster, which may have moved since the commit before.
// Sightings are written after the names: no identity is seen that another link would give another id.
func (h *holding) commit(ctx context.Context, offset int64, moved bool) error {
	records, sightings, said := h.unsaid(h.Topic, h.at.Topic)
	c := &producer.Commit{Records: records, Offset: offset}
	if h.Episodes != "" {
		for i := range sightings {
			c.State = append(c.State, sightings[i].Record(h.Episodes))
		}
	}
	if len(c.Records)+len(c.State) == 0 && !moved {
		said()
		return nil
	}
	if err := h.committer.Commit(ctx, c); err != nil {
		return err
	}
	said()
	if len(records) == 0 {
		return nil
	}
	spans, err := h.Client.SpansOf(ctx, true, h.Topic)
	h.spans = slices.Clip(spans)
	return err
}
