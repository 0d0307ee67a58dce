package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
)

var teachCommand = command{
	name: "teach", args: "FILE",
	short: "send labelled examples to the labels topic (add, correct, forget)",
	long: "teach sends each row of a file, with its id and its label, to the labels topic. An id that was\n" +
		"taught before is corrected. With --forget the rows need only ids, and their examples are forgotten; it says\n" +
		"if the topic has none with some of the ids. A row with a stream, its own or --stream, is for that\n" +
		"stream alone, and its id is another one in each stream: it names what the stream's own feed taught under it. The id \"item:\" and the id of\n" +
		"a result names that item itself. A sender's id of an item does not: it may come again.",
	example: "  slkstream teach corrections.jsonl --labels labels\n  slkstream teach mistakes.jsonl --labels labels --forget",
	run:     teach,
}

func teach(ctx context.Context, c *call) error {
	labels, change, path := c.Config.Topics.Labels, &c.Config.Change, c.Args[0]
	var records []record.Out
	rest, first := 0, "" // rows without a label
	at, skip := time.Now().UTC(), (func(*table.BadRow) error)(nil)
	if change.Forget {
		skip = func(bad *table.BadRow) error {
			if bad.ID == "" {
				return fmt.Errorf("%w, and no id by which it could be forgotten", bad)
			}
			records = append(records, record.Forget(labels, record.StreamKey(cmp.Or(bad.Stream, c.Config.Select.Stream), bad.ID)))
			return nil
		}
	}
	// A later row may be bad, so nothing is sent yet.
	err := eachRow(path, supportReading(c.Config), func(row table.Row) error {
		row.Stream = cmp.Or(row.Stream, c.Config.Select.Stream)
		key := record.StreamKey(row.Stream, row.ID)
		switch bad := record.CheckKey(key); {
		case row.ID == "" && isNPY(path):
			return fmt.Errorf("%s has neither ids nor labels: teach takes a form that has them, such as .jsonl", path)
		case row.Label == "" && !change.Forget:
			rest++
			first = cmp.Or(first, row.Where())
			return nil
		case row.ID == "":
			const why = "has no id, by which it could be corrected or forgotten: --id-field says where it is; if it has none, add one"
			return fmt.Errorf("%s: %s %s", path, row.Where(), why)
		case bad != nil:
			return fmt.Errorf("%s: %s: %w", path, row.Where(), bad)
		case change.Forget:
			records = append(records, record.Forget(labels, key))
			return nil
		}
		e := record.Example{ID: key, Stream: row.Stream, Label: row.Label, Model: row.Model, Vector: row.Vector}
		if e.By = change.By; e.By != "" {
			e.At = at
		}
		out := record.Teach(labels, &e)
		if err := record.CheckLabel(ctx, &out); err != nil {
			return fmt.Errorf("%s: %s: %w", path, row.Where(), err)
		}
		records = append(records, out)
		return nil
	}, skip)
	switch {
	case err != nil && !change.Forget && errors.Is(err, record.ErrNoVector):
		return fmt.Errorf("%w; an item that a stage has answered is taught without its vector on the page, or by "+
			`POST /api/teach {"id","label"}; names of a file by labels export go back by labels import`, err)
	case err != nil:
		return err
	case len(records) == 0 && rest > 0:
		return noLabel(path, first, "label-field")
	case len(records) == 0:
		return fmt.Errorf("%s has no rows", path)
	}
	if rest > 0 {
		c.Log.Info("rows without a label teach nothing", "rows", rest, "first", first)
	}
	client, err := c.kafka(ctx)
	if err != nil {
		return err
	}
	if change.Forget {
		return c.forgetExamples(ctx, client, records)
	}
	if err := c.writeLabels(ctx, client, records...); err != nil {
		return err
	}
	ids, items := map[string]bool{}, 0
	for i := range records {
		key := string(records[i].Key)
		if !ids[key] && namesItem(key) {
			items++
		}
		ids[key] = true
	}
	if again := len(records) - len(ids); again > 0 {
		c.Log.Warn("some ids come more than once in the file: the last row of each counts", "rows_replaced", again)
	}
	c.Log.Info("taught", "examples", len(ids), "items_named", items, "topic", labels)
	return nil
}

// namesItem says whether the example under a key is an item itself, which is called as the example says.
func namesItem(key string) bool {
	_, isResult := record.ParseID(key)
	return isResult || record.ResultOf(key) != ""
}

// noLabel is the error of a file in which no row has a label.
func noLabel(path, where, setting string) error {
	return fmt.Errorf("%s: %s has no label, nor has any other: --%s says where it is", path, where, setting)
}

// forgetExamples writes the records that forget examples, also of ids that the labels topic does not have:
// examples of --support and of the feed may have them, which only a stage knows.
func (c *call) forgetExamples(ctx context.Context, client *topic.Client, records []record.Out) error {
	entries, err := c.labelEntries(ctx, client)
	if err != nil {
		return err
	}
	taught := map[string]bool{}
	for i := range entries {
		if e := &entries[i]; e.Holds && (e.Teach != nil || e.Not != nil) {
			taught[e.Key] = true
		}
	}
	if err := c.writeLabels(ctx, client, records...); err != nil {
		return err
	}
	forgotten, others, first, seen := 0, 0, "", map[string]bool{}
	for i := range records {
		switch id := string(records[i].Key); {
		case seen[id]: // an earlier row's
		case taught[id]:
			forgotten++
		default:
			others++
			first = cmp.Or(first, id)
		}
		seen[string(records[i].Key)] = true
	}
	if others > 0 {
		c.Log.Warn("the labels topic has no example or rejection with these ids: only examples of --support that have "+
			"them, and of the feed that have them in the row's stream, are forgotten", "ids", others, "first", first, "topic", c.Config.Topics.Labels)
	}
	c.Log.Info("forgotten", "examples", forgotten, "topic", c.Config.Topics.Labels)
	return nil
}

// writeLabels writes to the labels topic. On the embedded broker it creates a missing one, and warns, as the
// name may be a typing error.
func (c *call) writeLabels(ctx context.Context, client *topic.Client, records ...record.Out) error {
	wanted := topic.Description{Name: c.Config.Topics.Labels, Partitions: 1, Settings: topic.StateSettings()}
	_, err := client.Partitions(ctx, wanted.Name)
	isNew := topic.IsMissing(err)
	if err := c.prepareTopic(ctx, client, wanted); err != nil {
		return err
	}
	if isNew {
		c.Log.Warn("the labels topic did not exist and was made: only a stage with this --labels reads it",
			"topic", wanted.Name)
	}
	if err := labels.Write(ctx, client, records); err != nil {
		return fmt.Errorf("topic %s: %w", wanted.Name, err)
	}
	return nil
}
