package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// readRecords reads a partition from one offset to another, itself left out. It ends after an error.
func readRecords(ctx context.Context, client *topic.Client, at topic.TopicPartition, from, to int64,
	committed bool,
) iter.Seq2[*record.Raw, error] {
	return func(yield func(*record.Raw, error) bool) {
		reader := client.NewReader(topic.ReaderSettings{
			Topic: at.Topic, Partition: at.Partition, Offset: from, Uncommitted: !committed,
		})
		for reader.Position() < to {
			batch, err := reader.Read(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range batch.Records {
				if raw := &batch.Records[i]; raw.Offset < to && !yield(raw, nil) {
					return
				}
			}
		}
	}
}

// errGone is returned for a record that is not in its topic any more.
var errGone = errors.New("compaction took it, or it is a transaction's mark")

// recordReader reads single records, at little cost if they are asked for about in order: it keeps one batch
// of each partition.
type recordReader struct {
	client    *topic.Client
	committed bool
	parts     map[topic.TopicPartition]*readPart
}

type readPart struct {
	reader *topic.Reader
	from   int64 // offset at which the batch begins
	batch  *topic.Batch
}

// at returns the record at an offset that the partition's end is beyond.
func (r *recordReader) at(ctx context.Context, at topic.TopicPartition, offset int64) (*record.Raw, error) {
	part := r.parts[at]
	if part == nil || offset < part.from {
		part = &readPart{batch: &topic.Batch{}, reader: r.client.NewReader(topic.ReaderSettings{
			Topic: at.Topic, Partition: at.Partition, Offset: offset, Uncommitted: !r.committed,
		})}
		if r.parts == nil {
			r.parts = map[topic.TopicPartition]*readPart{}
		}
		r.parts[at] = part
	}
	for part.batch.Next <= offset {
		part.from = part.reader.Position()
		batch, err := part.reader.Read(ctx)
		if err != nil {
			return nil, err
		}
		part.batch = batch
	}
	i, found := slices.BinarySearchFunc(part.batch.Records, offset, func(raw record.Raw, offset int64) int {
		return cmp.Compare(raw.Offset, offset)
	})
	if !found {
		return nil, errGone
	}
	return &part.batch.Records[i], nil
}
