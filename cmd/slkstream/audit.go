package main

import (
	"context"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/audit"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

var auditCommand = command{
	name:  "audit",
	short: "list labelled examples that disagree with the others",
	long: "audit answers each labelled example of the labels topic and of the support by all the others, and lists those that get\n" +
		"another label: by stream and class, worst first, with the id by which teach corrects or forgets them. An example that is\n" +
		"alone in its class cannot be checked. Nothing is changed.",
	example: "  slkstream audit --labels labels\n  slkstream audit --support sample/support.jsonl --json",
	run:     auditLabels,
}

// auditRow is a printed doubtful example.
type auditRow struct {
	Stream     string  `json:"stream,omitempty"` // empty: the example is for all streams
	ID         string  `json:"id"`
	Label      string  `json:"label"`
	Says       string  `json:"says"`
	Confidence float64 `json:"confidence"`
}

func auditLabels(ctx context.Context, c *call) error {
	support, err := readSupport(c.Config)
	if err != nil {
		return err
	}
	name := c.Config.Topics.Labels
	if name == "" && len(support) == 0 {
		return usagef("audit needs labelled examples: --labels TOPIC, --support FILE or both")
	}
	inForce := &taught.Labels{Everyone: support}
	if name != "" {
		client, err := c.kafka(ctx)
		if err != nil {
			return err
		}
		if inForce, err = labels.Read(ctx, client, name, record.Options{Model: c.Config.Stage.Model},
			support, c.Log); err != nil {
			return err
		}
	}
	settings, err := memorySettings(c.Config)
	if err != nil {
		return err
	}
	engine := new(stream.Engine)
	doubts, alone, err := audit.Labels(ctx, engine, settings, inForce)
	if err != nil {
		return err
	}
	p := newList(c, "STREAM\tCLASS\tID\tCLASS BY THE OTHERS\tCONFIDENCE")
	shown, chosen := 0, c.Config.Select
	for _, d := range doubts {
		if chosen.Stream != "" && chosen.Stream != d.Stream || chosen.Class != "" && chosen.Class != d.Label {
			continue
		}
		shown++
		scope := d.Stream
		if scope == "" {
			scope = "(all)"
		}
		row := auditRow{d.Stream, d.ID, d.Label, d.Says, d.Confidence}
		p.print(row, "%s\t%s\t%s\t%s\t%.2f", scope, d.Label, d.ID, d.Says, d.Confidence)
	}
	c.Log.Info("audited", "doubtful", shown, "alone_in_class", alone)
	return p.close()
}
