package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

var pauseCommand = command{
	name:  "pause",
	short: "leave a stream, a partition or everything unanswered until resume",
	long: "pause leaves a stream, a partition of the input, or with neither everything unanswered, in every\n" +
		"stage that follows the labels topic. Records that are read already are answered, open episodes of\n" +
		"a paused partition too: then processes can be stopped with nothing left open. Nothing is lost: while\n" +
		"a stream is paused, its partition's committed offset stays at the first of its records, and after\n" +
		"resume they are read again. Keep the pause shorter than the input's retention. Pauses outlive\n" +
		"restarts; /readyz, the page and slkstream_paused show them.",
	example: "  slkstream pause --stream cam-7 --labels labels\n" +
		"  slkstream pause --partition 3 --in embeddings --labels labels",
	run: onKafka(pause),
}

var resumeCommand = command{
	name:  "resume",
	short: "go on with what was paused",
	long: "resume ends the pause of a stream, of a partition, or with neither every pause. The records in\n" +
		"between are then answered.",
	example: "  slkstream resume --stream cam-7 --labels labels",
	run:     onKafka(resume),
}

var skipCommand = command{
	name:  "skip",
	short: "leave one record unanswered for good: it goes to the dead letters",
	long: "skip leaves one record unanswered in every stage, and keeps it in the dead letters; dead replay\n" +
		"sends it again. The id is the one of its result: TOPIC/PARTITION/OFFSET, and /OBJECT for one\n" +
		"object of a frame. A stage that has read the record already must start again to leave it out.",
	example: "  slkstream skip --id embeddings/0/4711 --labels labels --out results",
	run:     skip,
}

// ordered returns the pause that the settings describe.
func ordered(c *call) record.Order {
	s, in := &c.Config.Select, c.Config.Topics.In
	o := record.Order{Stream: s.Stream, By: c.Config.Change.By, At: time.Now().UTC().Truncate(time.Second)}
	if s.Partition >= 0 {
		number := int32(s.Partition)
		o.Partition = &number
	}
	if len(in) == 1 {
		o.Topic = in[0]
	}
	return o
}

// writeLabels writes to the labels topic. On the embedded broker it creates a missing one, and warns, as the
// name may be a typing error.
func (c *call) writeLabels(ctx context.Context, client *topic.Client, records ...record.Out) error {
	labels := topic.Description{Name: c.Config.Topics.Labels, Partitions: 1, Settings: topic.StateSettings()}
	_, err := client.Partitions(ctx, labels.Name)
	isNew := topic.IsMissing(err)
	if err := c.prepareTopic(ctx, client, labels); err != nil {
		return err
	}
	if isNew {
		c.Log.Warn("the labels topic did not exist and was made: only a stage with this --labels reads it",
			"topic", labels.Name)
	}
	if err := client.Write(ctx, records); err != nil {
		return fmt.Errorf("topic %s: %w", labels.Name, err)
	}
	return nil
}

func pause(ctx context.Context, c *call, client *topic.Client) error {
	o, labels := ordered(c), c.Config.Topics.Labels
	if err := c.writeLabels(ctx, client, o.Record(labels)); err != nil {
		return err
	}
	c.Log.Info("paused: it is left unanswered until it is resumed", "what", o.What(), "topic", labels)
	return nil
}

func resume(ctx context.Context, c *call, client *topic.Client) error {
	wanted, name := ordered(c), c.Config.Topics.Labels
	entries, err := c.labelEntries(ctx, client)
	if err != nil {
		return err
	}
	all, resumed := wanted.Stream == "" && wanted.Partition == nil, 0
	for i := range entries {
		o := entries[i].Order
		if o == nil || !entries[i].Holds || o.Skip != "" || !all && o.Key() != wanted.Key() {
			continue
		}
		if err := client.Write(ctx, []record.Out{o.Resume(name)}); err != nil {
			return fmt.Errorf("topic %s: %w", name, err)
		}
		resumed++
		c.Log.Info("resumed", "what", o.What(), "topic", name)
	}
	if resumed == 0 {
		return fmt.Errorf("no pause of %s holds in labels topic %s: slkstream labels list shows others",
			wanted.What(), name)
	}
	return nil
}

func skip(ctx context.Context, c *call) error {
	t := &c.Config.Topics
	o := record.Order{
		Skip: c.Config.Select.ID, By: c.Config.Change.By, At: time.Now().UTC().Truncate(time.Second),
	}
	source, ok := record.ParseID(o.Skip)
	if !ok {
		return usagef("id %q: give TOPIC/PARTITION/OFFSET, with /OBJECT for one object of a frame", o.Skip)
	}
	if t.Out == "" && t.Dead == "" {
		return usagef("out: give it, or dead, for the topic of dead letters that keeps the record")
	}
	client, err := c.kafka(ctx)
	if err != nil {
		return err
	}
	first, end, err := client.Bounds(ctx, source.Topic, source.Partition, false)
	if err != nil {
		return err
	}
	if source.Offset < first || source.Offset >= end {
		return fmt.Errorf("%s/%d has no record at offset %d: it holds %d to %d", source.Topic, source.Partition,
			source.Offset, first, end)
	}
	at := topic.TopicPartition{Topic: source.Topic, Partition: source.Partition}
	raw, err := newRecordReader(client).at(ctx, at, source.Offset)
	if err != nil {
		return fmt.Errorf("%s/%d has no record at offset %d: %w", at.Topic, at.Partition, source.Offset, err)
	}
	dead := topic.Description{Name: t.DeadTopic(), Partitions: 1}
	if err := c.prepareTopic(ctx, client, dead); err != nil {
		return err
	}
	reason := "skipped by hand"
	if o.By != "" {
		reason = "skipped by " + o.By
	}
	if err := client.Write(ctx, []record.Out{record.DeadLetter(dead.Name, raw, reason, 0)}); err != nil {
		return fmt.Errorf("topic %s: %w", dead.Name, err)
	}
	if err := c.writeLabels(ctx, client, o.Record(t.Labels)); err != nil {
		return err
	}
	c.Log.Info("skipped: it is in the dead letters, and no stage that has not read it answers it", "id", o.Skip,
		"dead", dead.Name)
	return nil
}
