package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// labels tests that every record of the labels topic can be read.
func (k *checker) labels(ctx context.Context) {
	name := k.config.Topics.Labels
	if !k.exists[name] {
		return
	}
	decoder, err := k.decoder()
	if err != nil {
		return // reported where the input is read
	}
	k.taught = map[string]int{}
	bad := 0
	var why error
	err = k.read(ctx, name, 0, func(raw *record.Raw) {
		label, err := decoder.DecodeLabel(ctx, raw)
		switch {
		case err != nil:
			bad, why = bad+1, err
		case label.Teach != nil:
			k.taught[label.Teach.ItemID] = len(label.Teach.Vector)
		case label.Forget != "":
			delete(k.taught, label.Forget)
		}
	})
	switch {
	case err != nil:
		k.fault("labels", "labels topic %s cannot be read: %v", name, err)
	case bad > 0:
		k.fault("labels", "labels topic %s: %d records are no examples, the last: %v", name, bad, why)
	default:
		k.good("labels: %d examples", len(k.taught))
	}
}

// latest is what the latest records of an input hold.
type latest struct {
	read, good  int
	why         error            // of the last record that cannot be read
	partitionOf map[string]int32 // by stream
	scattered   string           // says which stream is in several partitions; "": none is
	dimensions  map[int]bool
	items       int
	found       foundFields // in the items
}

// latest reads the latest records of each partition of an input.
func (k *checker) latest(ctx context.Context, in string, count int64) (s latest, err error) {
	s = latest{partitionOf: map[string]int32{}, dimensions: map[int]bool{}, found: foundFields{}}
	decoder, err := k.decoder()
	if err != nil {
		return s, err
	}
	err = k.read(ctx, in, count, func(raw *record.Raw) {
		s.read++
		items, err := decoder.Decode(ctx, raw, nil)
		var empty *record.Empty
		if err != nil && !errors.As(err, &empty) {
			s.why = err
			return
		}
		s.good++
		for i := range items {
			if p, seen := s.partitionOf[items[i].Stream]; seen && p != raw.Partition {
				s.scattered = fmt.Sprintf("stream %q of %s is in partitions %d and %d", items[i].Stream, in, p, raw.Partition)
			}
			s.partitionOf[items[i].Stream] = raw.Partition
			s.dimensions[len(items[i].Vector)] = true
			s.items++
			s.found.add(&items[i], raw.Time)
		}
	})
	return s, err
}

// misfit returns an error if no example of the support has the dimension of a record.
func (s *latest) misfit(in string, files []string, support []taught.Example) error {
	if len(s.dimensions) == 0 || len(support) == 0 ||
		slices.ContainsFunc(support, func(e taught.Example) bool { return s.dimensions[len(e.Vector)] }) {
		return nil
	}
	return fmt.Errorf(
		"support: none of the %d labelled examples of %s fits the feed: they have %d numbers, "+
			"the latest records of %s have %d",
		len(support), strings.Join(files, ", "), len(support[0].Vector), in,
		slices.Max(slices.Collect(maps.Keys(s.dimensions))))
}

// others counts the examples that have the dimension of no record.
func (s *latest) others(taught map[string]int) (count int) {
	for _, dimension := range taught {
		if len(s.dimensions) > 0 && !s.dimensions[dimension] {
			count++
		}
	}
	return count
}

// streams tests that the input can be read, and warns of a stream that is spread over partitions, as each
// partition would learn it separately.
func (k *checker) streams(ctx context.Context) {
	const count = 200 // records of each partition
	for _, in := range k.inputs {
		s, err := k.latest(ctx, in, count)
		switch {
		case err != nil:
			k.fault("in format stream-by", "topic %s cannot be read: %v", in, err)
			continue
		case s.read > 0 && s.good == 0:
			k.fault("format dimension", "none of the latest %d records of %s can be read: %v: slkstream map %s shows them",
				s.read, in, s.why, in)
		case s.why != nil:
			k.warn("%d of the latest %d records of %s cannot be read, the last: %v: slkstream map %s shows them",
				s.read-s.good, s.read, in, s.why, in)
		}
		if err := s.misfit(in, k.config.Stage.Support, k.support); err != nil {
			k.fault("support", "%v", err)
		}
		if others := s.others(k.taught); others > 0 {
			k.warn("%d of the %d examples of labels topic %s have another dimension than the latest records of %s: "+
				"they are not used",
				others, len(k.taught), k.config.Topics.Labels, in)
		}
		if s.scattered != "" {
			k.warn("%s, which learn it separately: key the records by what tells streams apart (--stream-by %s), and let all "+
				"senders place a key alike, as Java and feed do: librdkafka, also in Python, needs partitioner=murmur2_random, "+
				"kafka-go a Murmur2Balancer, Sarama a partitioner by murmur2",
				s.scattered, k.config.Stage.StreamBy)
		}
		if says := s.found.allLabelled(s.items); says != "" && s.items >= count {
			k.warn("input %s: %s", in, says)
		}
		k.good("input %s: the latest %d records hold %d streams; of %d items have %s", in, s.read, len(s.partitionOf), s.items,
			s.found)
	}
}

func (k *checker) decoder() (*record.Decoder, error) {
	o, err := decoding(k.config, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return record.NewDecoder(o)
}

// read reads the latest records of every partition of a topic, or all of them if latest is 0.
func (k *checker) read(ctx context.Context, name string, latest int64, use func(*record.Raw)) error {
	committed := k.config.Delivery.Isolation == "read-committed"
	spans, err := k.client.Spans(ctx, committed, name)
	for i := 0; i < len(spans) && err == nil; i++ {
		s := spans[i]
		if s.Uncommitted = !committed; latest > 0 {
			s.From = max(s.From, s.To-latest)
		}
		err = within(ctx, func(ctx context.Context) error {
			for raw, err := range k.client.Records(ctx, s) {
				if err != nil {
					return err
				}
				use(raw)
			}
			return nil
		})
	}
	return err
}

// checkStart finds, before a stage starts, faults that would make its work useless. Labelled examples that
// cannot fit the feed stop the start, unless the state topic holds what a stage has learned. A labels topic
// that is not compacted is logged. What brokers do not let it read is skipped: the check command reports
// everything.
func checkStart(ctx context.Context, c *call, client *topic.Client, support []taught.Example) error {
	if name := c.Config.Topics.Labels; name != "" {
		d, err := client.Describe(ctx, name)
		policy, told := d.Settings["cleanup.policy"]
		if err == nil && told && !strings.Contains(policy, "compact") {
			c.Log.Warn("the labels topic is not compacted: examples are deleted with time; slkstream check --compact sets it",
				"topic", name, "cleanup.policy", policy)
		}
	}
	if len(support) == 0 {
		if files := c.Config.Stage.Support; len(files) > 0 {
			c.Log.Warn("--support has no labelled example", "support", strings.Join(files, ", "))
		}
		return nil
	}
	k := &checker{config: c.Config, client: client}
	for _, in := range c.Config.Topics.In {
		const count = 20 // records of each partition
		s, err := k.latest(ctx, in, count)
		if err != nil {
			continue
		}
		if err = s.misfit(in, c.Config.Stage.Support, support); err == nil {
			continue
		}
		// The latest records may be wrong: they do not stop a stage that has answered before.
		spans, unreadable := client.Spans(ctx, false, c.Config.Topics.StateTopic())
		written := func(s topic.Span) bool { return s.To > 0 }
		if unreadable == nil && !slices.ContainsFunc(spans, written) {
			return err
		}
		c.Log.Error(err.Error())
	}
	return ctx.Err()
}
