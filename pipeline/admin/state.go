// Package admin reads and changes what a group has in its topics, from outside of a stage: what its streams
// remember, and the names of its labels.
package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/solver/stream"
)

// Remembered is one stream's state in a state topic.
type Remembered struct {
	Topic     string // of the input
	Partition int32
	Stream    string
	Model     string
	Learned   record.Position // the last item covered by the snapshot
	Answered  record.Position // the last item with committed results
	Saved     time.Time       // when the snapshot was written; zero: there is none
	Memory    stream.Summary  // zero: the snapshot was reset, or there is none yet
	Err       error           // why the snapshot cannot be read
}

// ReadState lists the streams in a group's state or, with "", in that of any group, by input, partition and
// stream. faults are the errors of records that cannot be read.
func ReadState(ctx context.Context, client *topic.Client, name, group string) (list []Remembered, faults []error, err error) {
	err = store.Each(ctx, client, name, group, func(at topic.TopicPartition, restored *state.Restored) error {
		faults = append(faults, restored.Faults...)
		for key, done := range restored.Done {
			r := Remembered{
				Topic: at.Topic, Partition: at.Partition, Stream: key.Name, Model: key.Model, Learned: record.NoPosition,
				Answered: done,
			}
			if s := restored.Snapshots[key]; s != nil {
				r.Learned, r.Saved = s.Learned, s.Written
				if len(s.Pieces) > 0 {
					r.Memory, r.Err = stream.Inspect(s.Pieces)
				}
			}
			list = append(list, r)
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Remembered) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition),
			cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Model, b.Model))
	})
	return list, faults, err
}

// ErrRunning is returned when state must not be changed because the group that owns it has members.
var ErrRunning = errors.New("the group is running")

// ResetState makes streams of a stopped group forget what they learned: one stream or, with "", all. Their
// positions and answered items stay. It returns the number of streams. For a running group, write a control
// record to its labels topic instead.
func ResetState(ctx context.Context, client *topic.Client, group, name, stream string) (count int, err error) {
	if err := idle(ctx, client, group); err != nil {
		return 0, err
	}
	err = store.Each(ctx, client, name, group, func(at topic.TopicPartition, restored *state.Restored) error {
		var snapshots []*state.Snapshot
		for key, done := range restored.Done {
			if stream == "" || key.Name == stream {
				snapshots = append(snapshots, &state.Snapshot{Stream: key, Learned: done, Labels: last(restored, key)})
			}
		}
		if restored.Journal == nil || len(snapshots) == 0 {
			return nil
		}
		count += len(snapshots)
		journal := *restored.Journal
		journal.Episodes = nil
		writer := state.NewWriter(group, at.Topic, name, at.Partition, state.Owner{}, restored)
		return client.Write(ctx, writer.Commit(&journal, snapshots))
	})
	return count, err
}

// DiscardState deletes the records of a group's state that this build cannot read, in all partitions, and
// returns how many. The group may be running.
func DiscardState(ctx context.Context, client *topic.Client, group, name string) (count int, err error) {
	err = store.Each(ctx, client, name, group, func(at topic.TopicPartition, restored *state.Restored) error {
		var tombstones []record.Out
		for _, key := range restored.Unreadable {
			tombstones = append(tombstones, record.Out{Topic: name, Partition: at.Partition, Key: []byte(key)})
		}
		count += len(tombstones)
		return client.Write(ctx, tombstones)
	})
	return count, err
}

// last returns the labels in force at a stream's last answer.
func last(r *state.Restored, key record.StreamID) []int64 {
	var labels []int64
	if s := r.Snapshots[key]; s != nil {
		labels = s.Labels
	}
	for _, a := range r.Relearn {
		if a.Stream == key {
			labels = a.Labels
		}
	}
	return labels
}

// idle returns ErrRunning if a group has members.
func idle(ctx context.Context, client *topic.Client, group string) error {
	described, err := client.Group(ctx, group)
	if n := len(described.Members); err == nil && n > 0 {
		err = fmt.Errorf("group %s, %d members: %w", group, n, ErrRunning)
	}
	return err
}
