package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

const nowTopic = "now"

// killOrMove kills a stage, or lets one join or leave, so that partitions move while first answers
// are in flight.
func (s *scenario) killOrMove(ctx context.Context, i int) error {
	if i%3 == 2 {
		return s.joinOrLeave(ctx, i)
	}
	return s.kill(ctx, i)
}

// firstAnswer holds when an item's first answers were written, and how many there are.
type firstAnswer struct {
	last  time.Time
	count int
}

// judgeNow checks the promises about first answers, and reports how many items have one.
func (s *scenario) judgeNow(ctx context.Context, in *truth, got *answers) (string, error) {
	first := map[string]firstAnswer{}
	few := limited{h: s.h}
	err := readAll(ctx, s.client, nowTopic, func(r *record.Raw) error {
		var result record.Result
		if err := json.Unmarshal(r.Value, &result); err != nil {
			return fmt.Errorf("%s/%d/%d is no result: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if result.Settled == nil || *result.Settled {
			few.say("settled", "the first answer to %s says that it is settled", result.ID)
		}
		x := first[result.ID]
		if x.count++; r.Time.After(x.last) {
			x.last = r.Time
		}
		first[result.ID] = x
		return nil
	})
	if err != nil {
		return "", err
	}
	verifyFirst(&few, in, got, first)
	few.sum()
	if len(first) == 0 {
		s.h.violation("now: no item has a first answer")
	}
	return fmt.Sprintf("%d first answers, %d items without", len(first), len(in.items)-len(first)), nil
}

// verifyFirst reports first answers to no item, several to one item (a new owner gives none to items before
// its claim), and those written after the item's result. Both times are from this machine's clock.
func verifyFirst(few *limited, in *truth, got *answers, first map[string]firstAnswer) {
	for id, x := range first {
		if _, ok := in.items[id]; !ok {
			few.say("now strange", "a first answer to %s, which is no item of the input", id)
		}
		if x.count > 1 {
			few.say("now twice", "%s has %d first answers", id, x.count)
		}
		if at, ok := got.at[id]; ok && x.last.After(at) {
			few.say("now late", "%s has its first answer %v after its result", id, x.last.Sub(at))
		}
	}
}
