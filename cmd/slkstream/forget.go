package main

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/admin"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

var forgetCommand = command{
	name:  "forget",
	short: "forget a name: its examples, rejections and names, and what streams learned of it",
	long: "forget removes a name from the labels topic, with its examples, rejections and names. Every stage\n" +
		"then forgets what its streams learned of it, before each stream's next episode and in its next\n" +
		"snapshot. It prints a receipt: what was taken back, which streams' saved state holds the name, and\n" +
		"which topics may still hold records with it, up to which offset and until when.\n" +
		"A later example of the name brings it back. Give the stage's --support, if it has one: its examples of the\n" +
		"name are out of force too, but only their files can lose them. A cluster, cluster-17, goes in every stream that has one\n" +
		"of this number.",
	example: "  slkstream forget --name anna --labels labels --out results --review review",
	run:     onKafka(forget),
}

func forget(ctx context.Context, c *call, client *topic.Client) error {
	support, err := readSupport(c.Config)
	if err != nil {
		return err
	}
	receipt, err := forgetName(ctx, c, client, support, record.Name{
		Name: c.Config.Change.Name, By: c.Config.Change.By, At: time.Now().UTC(),
	})
	if err != nil {
		return err
	}
	p := newList(c, "WHERE\tWHAT\tUNTIL")
	for _, r := range receipt {
		p.print(r, "%s\t%s\t%s", r.Where, r.What, r.Until)
	}
	return p.close()
}

// forgetName removes a name from all topics that the settings name, and takes the support's examples of it out of
// force.
func forgetName(
	ctx context.Context, c *call, client *topic.Client, support []taught.Example, n record.Name,
) ([]record.Receipt, error) {
	t := &c.Config.Topics
	var names []string
	for _, own := range t.Own() {
		names = append(names, own.Name)
	}
	return admin.ForgetName(ctx, client, t.Labels, t.StateTopic(), names, support, n, c.Log)
}
