package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/solver/stream"
)

// exportVersion is the version of the export format, which is JSON Lines: an exportHead, then an Exported
// for each stream.
const exportVersion = 1

type exportHead struct {
	Version int `json:"stateVersion"`
	Streams int `json:"streams"`
}

// Exported is a stream's memory, without the offsets of its records, which mean nothing in another topic.
type Exported struct {
	Topic      string         `json:"topic"` // the input
	Partition  int32          `json:"partition"`
	Partitions int            `json:"partitions"` // of the input; 0: it was deleted
	Stream     string         `json:"stream"`
	Model      string         `json:"model,omitempty"`
	Episodes   int64          `json:"episodes"`
	Seen       time.Time      `json:"seen"`  // event time of its last item
	Saved      time.Time      `json:"saved"` // when it was written to the state topic
	Memory     []stream.Piece `json:"memory"`
	Sum        uint32         `json:"crc32c"` // of the memory's bytes
}

func (e *Exported) sum() (sum uint32) {
	for _, p := range e.Memory {
		sum = crc32.Update(crc32.Update(sum, castagnoli, []byte(p.Name)), castagnoli, p.Bytes)
	}
	return sum
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrExport is wrapped by the error of a file of exported memory that cannot be used.
var ErrExport = errors.New("not usable as exported state")

// ErrNewer is wrapped by the error of an import that would replace newer memory by older.
var ErrNewer = errors.New("the state topic has newer memory")

// ExportState returns the memory of a group's streams from a state topic: of one or, with "", of all of them.
// The group may be running.
func ExportState(
	ctx context.Context, client *topic.Client, group, name, only string,
) (list []Exported, err error) {
	err = store.Each(ctx, client, name, group, func(at topic.TopicPartition, restored *state.Restored) error {
		partitions, err := client.Partitions(ctx, at.Topic)
		if err != nil && !topic.IsMissing(err) {
			return err
		}
		for key, s := range restored.Snapshots {
			if len(s.Pieces) == 0 || only != "" && key.Name != only {
				continue
			}
			held, err := stream.Inspect(s.Pieces)
			if err != nil {
				return fmt.Errorf("stream %q of %s: %w", key.Name, at, err)
			}
			e := Exported{
				Topic: at.Topic, Partition: at.Partition, Partitions: partitions, Stream: key.Name, Model: key.Model,
				Episodes: held.Episode, Seen: s.Seen, Saved: s.Written, Memory: s.Pieces,
			}
			e.Sum = e.sum()
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// WriteExport writes the form that ReadExport reads.
func WriteExport(w io.Writer, list []Exported) error {
	encoder := json.NewEncoder(w)
	if err := encoder.Encode(exportHead{exportVersion, len(list)}); err != nil {
		return err
	}
	for i := range list {
		if err := encoder.Encode(&list[i]); err != nil {
			return err
		}
	}
	return nil
}

// ReadExport reads exported memory, of one stream or, with "", of all. It checks that the memory is complete
// and that this build can read it.
func ReadExport(r io.Reader, only string) ([]Exported, error) {
	decoder := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	var head exportHead
	if err := decoder.Decode(&head); err != nil || head.Version < 1 {
		return nil, fmt.Errorf("%w: it does not begin like such a file", ErrExport)
	}
	if head.Version > exportVersion {
		return nil, fmt.Errorf("%w: version %d, this build reads %d: a newer version wrote it",
			ErrExport, head.Version, exportVersion)
	}
	var list []Exported
	for i := range head.Streams {
		var e Exported
		if err := decoder.Decode(&e); err != nil {
			return nil, fmt.Errorf("%w: stream %d of %d: %w", ErrExport, i+1, head.Streams, err)
		}
		if e.sum() != e.Sum {
			return nil, fmt.Errorf("%w: stream %q is damaged", ErrExport, e.Stream)
		}
		if _, err := stream.Inspect(e.Memory); err != nil {
			return nil, fmt.Errorf("%w: stream %q: %w", ErrExport, e.Stream, err)
		}
		if only == "" || e.Stream == only {
			list = append(list, e)
		}
	}
	return list, nil
}

// ImportState imports exported memory into streams of a stopped group. Their positions and answered items
// stay. input replaces the exported input topic; "": the same topic. If any stream was saved after its
// export, nothing is imported, unless replace is set.
func ImportState(
	ctx context.Context, client *topic.Client, group, name, input string, list []Exported, replace bool,
) error {
	if err := idle(ctx, client, group); err != nil {
		return err
	}
	byPartition := map[topic.TopicPartition][]Exported{}
	for _, e := range list {
		if input != "" {
			e.Topic = input
		}
		n, err := client.Partitions(ctx, e.Topic)
		if err != nil {
			return fmt.Errorf("input %s: %w", e.Topic, err)
		}
		if e.Partitions > 0 && n != e.Partitions {
			return fmt.Errorf("%w: %s has %d partitions, and had %d: keys fall into others",
				ErrExport, e.Topic, n, e.Partitions)
		}
		d := topic.Description{Name: name, Partitions: n, Settings: topic.StateSettings()}
		if err := client.Ensure(ctx, d); err != nil {
			return err
		}
		tp := topic.TopicPartition{Topic: e.Topic, Partition: e.Partition}
		byPartition[tp] = append(byPartition[tp], e)
	}
	var commits [][]record.Out
	for tp, of := range byPartition {
		records, err := importInto(ctx, client, group, name, tp, of, replace)
		if err != nil {
			return err
		}
		commits = append(commits, records)
	}
	for _, records := range commits { // written only after all checks have passed
		if err := client.Write(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

// importInto returns the state records that bring memory into one partition.
func importInto(
	ctx context.Context, client *topic.Client, group, name string, tp topic.TopicPartition, list []Exported,
	replace bool,
) ([]record.Out, error) {
	inputs, err := store.Inputs(ctx, client, name, tp.Partition, group)
	if err != nil {
		return nil, err
	}
	restored := inputs[tp.Topic]
	if restored == nil {
		restored = state.NewLoader(group, tp.Topic).Restore()
	}
	if restored.Blocked != nil {
		return nil, restored.Blocked
	}
	journal := &state.Journal{}
	writer := state.NewWriter(group, tp.Topic, name, tp.Partition, state.Owner{}, restored)
	writer.Fit(client.RecordLimit(ctx, name))
	if restored.Journal != nil {
		*journal = *restored.Journal
		journal.Episodes = nil
	} else {
		from, err := client.Committed(ctx, group, tp.Topic, tp.Partition)
		if err != nil {
			return nil, err
		}
		if from < 0 {
			if from, err = client.Offset(ctx, tp.Topic, tp.Partition, topic.Earliest, false); err != nil {
				return nil, err
			}
		}
		at := record.Start(from)
		journal.From, journal.Decided, journal.Rejected = at, at, from
		for _, e := range list {
			if e.Seen.After(journal.High) {
				journal.High = e.Seen
			}
		}
		writer.Start(at)
	}
	var snapshots []*state.Snapshot
	for _, e := range list {
		key := record.StreamID{Name: e.Stream, Model: e.Model}
		if s := restored.Snapshots[key]; s != nil && !replace && len(s.Pieces) > 0 && s.Written.After(e.Saved) {
			return nil, fmt.Errorf("stream %q of %s: %w: saved %s, exported %s", e.Stream, tp, ErrNewer,
				s.Written.UTC().Format(time.RFC3339), e.Saved.UTC().Format(time.RFC3339))
		}
		learned, known := restored.Done[key]
		if !known {
			learned = record.NoPosition
		}
		if e.Seen.Before(journal.High) {
			e.Seen = journal.High // time in a file does not count as idle time
		}
		snapshots = append(snapshots, &state.Snapshot{
			Stream: key, Learned: learned, Labels: last(restored, key), Seen: e.Seen, Pieces: e.Memory,
		})
	}
	return writer.Commit(journal, snapshots), nil
}
