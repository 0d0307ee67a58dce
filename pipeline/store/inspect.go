package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
)

// Inputs reads a partition of a state topic, by input topic: the state of the group or, with "", of any group.
func Inputs(
	ctx context.Context,
	client *topic.Client,
	name string,
	partition int32,
	group string,
) (map[string]*state.Restored, error) {
	loaders := map[string]*state.Loader{}
	for r, err := range client.All(ctx, topic.TopicPartition{Topic: name, Partition: partition}) {
		if err != nil {
			return nil, err
		}
		_, input, ok := state.Input(r.Key)
		if !ok {
			continue // a backfill's plan
		}
		loader := loaders[input]
		if loader == nil {
			loader = state.NewLoader(group, input)
			loaders[input] = loader
		}
		loader.Add(r)
	}
	restored := map[string]*state.Restored{}
	for input, loader := range loaders {
		restored[input] = loader.Restore()
	}
	return restored, nil
}

// Each calls do with the state of each input partition in a state topic: of the group or, with "", of any.
func Each(
	ctx context.Context, client *topic.Client, name, group string,
	do func(input topic.TopicPartition, r *state.Restored) error,
) error {
	n, err := client.Partitions(ctx, name)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	for p := range int32(n) {
		inputs, err := Inputs(ctx, client, name, p, group)
		if err != nil {
			return err
		}
		for _, input := range slices.Sorted(maps.Keys(inputs)) {
			if err := do(topic.TopicPartition{Topic: input, Partition: p}, inputs[input]); err != nil {
				return err
			}
		}
	}
	return nil
}
