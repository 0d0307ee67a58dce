package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A mistake does harm at one moment only: between the two steps that it swaps, or when a frozen owner
// resumes. mistakes gives the request of that moment, and the violations by which the mistake is recognised.
var mistakes = map[fault]struct {
	signs       []string
	key         kmsg.Key
	afterAnswer bool
	frozen      bool // freeze until another stage owns the partition; else kill
}{
	offsetsFirst:   {signs: []string{"lost"}, key: kmsg.OffsetCommit, afterAnswer: true},
	epochUnchecked: {signs: []string{"twice", "backwards"}, key: kmsg.AddPartitionsToTxn, frozen: true},
	stateOutside:   {signs: []string{"lost", "twice"}, key: kmsg.EndTxn},
	// needs no strike: brokers take its second batch for a retry of the first
	sequenceReused: {signs: []string{"lost"}},
}

// findMistake plays histories until one shows the mistake's violations, and returns how many it played
// and the violation.
func findMistake(ctx context.Context, first uint64, count int,
	f fault,
) (played int, violation string, err error) {
	for seed := first; seed < first+uint64(count); seed++ {
		h, err := runHistory(ctx, seed, f, f)
		if err != nil {
			return played, "", fmt.Errorf("seed %d: %w\n%s", seed, err, h.last(60))
		}
		played++
		for _, v := range h.failed() {
			for _, sign := range mistakes[f].signs {
				if strings.HasPrefix(v, sign+":") {
					return played, v, nil
				}
			}
		}
	}
	return played, "", fmt.Errorf("%d histories do not find the mistake %q", played, f)
}

// aim feeds one stream episode by episode, each after the commit of the previous one, and strikes the stage
// during one of them, at the request where the mistake matters.
func (w *world) aim(ctx context.Context) error {
	first := w.stages[0]
	struck := make(chan struct{})
	target := mistakes[w.plan.aim]
	strikes := w.plan.aim != sequenceReused
	if strikes {
		// The first request of each kind belongs to the claim of the partition, when nothing can go wrong yet.
		moment := &strike{key: target.key, count: 2 + w.random.IntN(3), afterAnswer: target.afterAnswer}
		moment.blow = sync.OnceFunc(func() {
			if target.frozen {
				first.network.freeze()
			} else {
				first.network.kill()
			}
			close(struck)
		})
		w.h.note("%s is to be struck at request %d of kind %s", first.name, moment.count, moment.key.Name())
		first.network.strikeAt(moment)
	}
	const episodes = 8
	for range episodes {
		if err := w.client.Write(ctx, w.feed.next(w.plan.size)); err != nil {
			return err
		}
		if w.worked(ctx, struck) {
			w.h.note("%s is struck", first.name)
			return w.followUp(ctx, first, target.frozen)
		}
	}
	if strikes {
		return fmt.Errorf("%s has got through %d episodes and was not struck", first.name, episodes)
	}
	return w.client.Write(ctx, w.feed.ends())
}

// followUp lets another stage own the partition, and thaws a frozen one.
func (w *world) followUp(ctx context.Context, struck *stage, frozen bool) error {
	if frozen {
		w.start("")
		w.worked(ctx, nil)
		w.h.note("%s goes on", struck.name)
		struck.network.thaw()
		time.Sleep(historySession / 2) // its requests in flight arrive, and its session expires
	} else {
		w.replace(struck)
	}
	return w.client.Write(ctx, w.feed.ends())
}

// worked waits until everything fed is committed, at most for the plan's patience, as a build with a mistake
// may never get there. It reports whether the stage was struck first.
func (w *world) worked(ctx context.Context, struck <-chan struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, w.plan.patience())
	defer cancel()
	for {
		if at, err := w.client.Committed(ctx, groupName, inTopic, 0); err == nil && at >= int64(w.feed.n) {
			return false
		}
		select {
		case <-struck:
			return true
		case <-ctx.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
}
