package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// checkStart finds, before a stage starts, faults that would make its work useless. Labelled examples that
// cannot fit the feed stop the start, unless the state topic exists already. A labels topic that is not
// compacted is logged. What brokers do not let it read is skipped: the check command reports everything.
func checkStart(ctx context.Context, c *call, client *topic.Client, support []stream.Example) error {
	if name := c.Config.Topics.Labels; name != "" {
		d, err := client.Describe(ctx, name)
		policy, told := d.Settings["cleanup.policy"]
		if err == nil && told && !strings.Contains(policy, "compact") {
			c.Log.Warn("the labels topic is not compacted: examples are deleted with time; slkstream check --compact sets it",
				"topic", name, "cleanup.policy", policy)
		}
	}
	if len(support) == 0 {
		return nil
	}
	k := &checker{config: c.Config, client: client}
	for _, in := range c.Config.Topics.In {
		const count = 20 // records of each partition
		s, err := k.latest(ctx, in, count)
		if err != nil || len(s.dimensions) == 0 || slices.ContainsFunc(support,
			func(e stream.Example) bool { return s.dimensions[len(e.Vector)] }) {
			continue
		}
		dimension := slices.Max(slices.Collect(maps.Keys(s.dimensions)))
		err = fmt.Errorf("support: none of the %d labelled examples of %s fits the feed: they have %d numbers, the latest records of %s have %d",
			len(support), strings.Join(c.Config.Stage.Support, ", "), len(support[0].Vector), in, dimension)
		// The latest records may be wrong: they do not stop a stage that has answered before.
		if n, missing := client.Partitions(ctx, c.Config.Topics.StateTopic()); missing != nil || n == 0 {
			return err
		}
		c.Log.Error(err.Error())
	}
	return ctx.Err()
}
