package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/table"
)

var teachCommand = command{
	name: "teach", args: "FILE",
	short: "send labelled examples to the labels topic (add, correct, forget)",
	long: "teach sends each row of a file, with its id and its label, to the labels topic. An id that was taught before is corrected. With --forget the\n" +
		"rows need only ids, and their examples are forgotten. A row with a stream is for that stream alone.",
	example: "  slkstream teach corrections.jsonl --labels labels\n  slkstream teach mistakes.jsonl --labels labels --forget",
	run:     teach,
}

func teach(ctx context.Context, c *call) error {
	labels, change, path := c.Config.Topics.Labels, &c.Config.Change, c.Args[0]
	var records []record.Out
	at, done, skip := time.Now().UTC(), "taught", (func(*table.BadRow) error)(nil)
	if change.Forget {
		done, skip = "forgotten", func(bad *table.BadRow) error {
			if bad.ID == "" {
				return fmt.Errorf("%w, and no id by which it could be forgotten", bad)
			}
			records = append(records, record.Forget(labels, bad.ID))
			return nil
		}
	}
	// A later row may be bad, so nothing is sent yet.
	err := eachRow(path, columns(c.Config), func(row table.Row) error {
		switch {
		case row.ID == "":
			return fmt.Errorf("%s: %s has no id, by which it could be corrected or forgotten", path, row.Where())
		case change.Forget:
			records = append(records, record.Forget(labels, row.ID))
			return nil
		case row.Label == "":
			return fmt.Errorf("%s: %s has no label", path, row.Where())
		}
		e := record.Example{ID: row.ID, Stream: row.Stream, Label: row.Label, Model: row.Model, Vector: row.Vector}
		if e.By = change.By; e.By != "" {
			e.At = at
		}
		records = append(records, record.Teach(labels, &e))
		return nil
	}, skip)
	if err != nil {
		return err
	}
	client, err := c.kafka(ctx)
	if err != nil {
		return err
	}
	if err := c.writeLabels(ctx, client, records...); err != nil {
		return err
	}
	c.Log.Info(done, "examples", len(records), "topic", labels)
	return nil
}
