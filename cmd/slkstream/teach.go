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
	labels := c.Config.Topics.Labels
	var records []record.Out
	add := func(out record.Out) { records = append(records, out) }
	var err error
	if c.Config.Change.Forget {
		err = eachID(c.Args[0], func(id string) { add(record.Forget(labels, id)) })
	} else {
		at := time.Now().UTC()
		err = eachExample(c.Args[0], columns(c.Config), func(e *record.Example) {
			if e.By = c.Config.Change.By; e.By != "" {
				e.At = at
			}
			add(record.Teach(labels, e))
		})
	}
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
	done := "taught"
	if c.Config.Change.Forget {
		done = "forgotten"
	}
	c.Log.Info(done, "examples", len(records), "topic", labels)
	return nil
}

// eachID reads the ids of the examples to be forgotten.
func eachID(path string, use func(string)) error {
	source, err := table.OpenIDs(path)
	if err != nil {
		return err
	}
	number := 0
	return eachRowOf(source, func(row table.Row) error {
		if row.ID == "" {
			return fmt.Errorf("%s: row %d has no id", path, number)
		}
		number++
		use(row.ID)
		return nil
	}, nil)
}

// eachExample passes the labelled examples of a file to use. A later row may be bad, so use must not
// send them yet.
func eachExample(path string, names table.Columns, use func(*record.Example)) error {
	number := 0
	return eachRow(path, names, func(row table.Row) error {
		switch {
		case row.ID == "":
			return fmt.Errorf("%s: row %d has no id, by which it could be corrected or forgotten", path, number)
		case row.Label == "":
			return fmt.Errorf("%s: row %d has no label", path, number)
		}
		number++
		use(&record.Example{ID: row.ID, Stream: row.Stream, Label: row.Label, Model: row.Model, Vector: row.Vector})
		return nil
	})
}
