package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// errGone is returned for a record that is not in its topic any more.
var errGone = errors.New("compaction took it, or it is a transaction's mark")

// recordReader reads single records, also those of open transactions. It keeps the latest batch of each
// partition, so that records asked for about in order cost little.
type recordReader struct {
	client  *topic.Client
	batches map[topic.TopicPartition][]record.Raw
}

func newRecordReader(client *topic.Client) recordReader {
	return recordReader{client, map[topic.TopicPartition][]record.Raw{}}
}

// at returns the record at an offset that the partition's end is beyond.
func (r recordReader) at(ctx context.Context, at topic.TopicPartition, offset int64) (*record.Raw, error) {
	find := func() (int, bool) {
		return slices.BinarySearchFunc(r.batches[at], offset, func(raw record.Raw, offset int64) int {
			return cmp.Compare(raw.Offset, offset)
		})
	}
	i, found := find()
	if !found {
		behind := topic.Span{TopicPartition: at, From: offset, To: topic.Endless, Uncommitted: true}
		for batch, err := range r.client.Batches(ctx, behind) {
			if err != nil {
				return nil, err
			}
			if r.batches[at] = batch.Records; batch.Next > offset {
				break
			}
		}
		if i, found = find(); !found {
			return nil, errGone
		}
	}
	return &r.batches[at][i], nil
}
