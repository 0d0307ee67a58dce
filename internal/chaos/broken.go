package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"

	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// A fault is a mistake that a build of the stage can contain. The tool is useful only if it finds
// each of them.
type fault string

const (
	sound        fault = ""
	offsetsFirst fault = "offsets-first" // at least once: offsets are committed before results are written
	// exactly once: neither the producer's epoch nor the generation is checked
	epochUnchecked fault = "epoch-unchecked"
	sequenceReused fault = "sequence-reused" // exactly once: a sequence number is reused for other records
	stateOutside   fault = "state-outside"   // exactly once: state is written outside the transaction
)

// mistaken adds a mistake to a correct delivery.
func mistaken(f fault, sound producer.Delivery, client *topic.Client) producer.Delivery {
	switch f {
	case offsetsFirst, stateOutside:
		return &reordered{sound, f, client}
	case epochUnchecked:
		return &unchecked{sound.(*producer.ExactlyOnce)}
	}
	return sound
}

// reordered writes the parts of a commit in the wrong order.
type reordered struct {
	producer.Delivery
	fault  fault
	client *topic.Client
}

func (r *reordered) Claim(ctx context.Context, c producer.Claim) (producer.Committer, int64, error) {
	inner, offset, err := r.Delivery.Claim(ctx, c)
	return &reorderedCommitter{inner, r}, offset, err
}

type reorderedCommitter struct {
	producer.Committer
	*reordered
}

func (r *reorderedCommitter) Commit(ctx context.Context, c *producer.Commit) error {
	switch r.fault {
	case offsetsFirst:
		if err := r.Committer.Commit(ctx, &producer.Commit{State: c.State, Offset: c.Offset}); err != nil {
			return err
		}
		if err := r.Close(ctx); err != nil { // Close waits for them
			return err
		}
		return r.Committer.Commit(ctx, &producer.Commit{Records: c.Records, Offset: -1})
	default:
		if err := r.client.Write(ctx, c.State); err != nil {
			return err
		}
		return r.Committer.Commit(ctx, &producer.Commit{Records: c.Records, Offset: c.Offset})
	}
}

// unchecked gives every owner its own transactional id, which fences none, and commits without a generation.
type unchecked struct{ *producer.ExactlyOnce }

func (u *unchecked) Claim(ctx context.Context, c producer.Claim) (producer.Committer, int64, error) {
	own := *u.ExactlyOnce
	own.Prefix = fmt.Sprintf("%s-%08x", own.Prefix, rand.Uint32())
	claimed := *c.Generation
	c.Generation = &claimed
	inner, offset, err := own.Claim(ctx, c)
	claimed.ID, claimed.MemberID = -1, ""
	return inner, offset, err
}

// reuseSequences makes every batch of an idempotent producer start with sequence number zero. It parses the
// request and the batch at the offsets of the Kafka protocol, for any number of topics.
func reuseSequences(request []byte) {
	const produce = 0
	if len(request) < 14 || binary.BigEndian.Uint16(request[4:]) != produce {
		return
	}
	at := 12 // after size, key, version and correlation
	text := func() {
		n := int(int16(binary.BigEndian.Uint16(request[at:])))
		at += 2 + max(n, 0)
	}
	text()      // client
	text()      // transactional id
	at += 2 + 4 // acks, timeout
	topics := int(binary.BigEndian.Uint32(request[at:]))
	at += 4
	for range topics {
		text()
		partitions := int(binary.BigEndian.Uint32(request[at:]))
		at += 4
		for range partitions {
			at += 4
			size := int(binary.BigEndian.Uint32(request[at:]))
			at += 4
			batch := request[at : at+size]
			at += size
			if int64(binary.BigEndian.Uint64(batch[43:])) >= 0 {
				binary.BigEndian.PutUint32(batch[53:], 0)
				binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
			}
		}
	}
}
