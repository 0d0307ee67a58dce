// Command chaos breaks a running stage on purpose, from a seed, and checks that it keeps its promises: nothing lost,
// nothing twice where that is promised, the answers of an undisturbed run, order within a stream, offsets that never move
// backwards. It prints a report, or the seed and the history of what happened. docs/chaos.md describes its scenarios.
//
//	go run ./internal/chaos -scenario kills -delivery exactly-once
//	go run ./internal/chaos -scenario histories -histories 5000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	s := scenario{}
	flag.StringVar(&s.name, "scenario", "kills", "kills, storm, zombie, rolling: processes on brokers; histories: short random ones in this process")
	flag.Uint64Var(&s.seed, "seed", 1, "start of every random choice")
	flag.StringVar(&s.delivery, "delivery", "exactly-once", "promise the stages run with: at-least-once or exactly-once")
	flag.StringVar(&s.broker, "broker", "real", "real: Apache Kafka; embedded: slkstream broker")
	flag.IntVar(&s.brokers, "brokers", 1, "how many real brokers; rolling wants 3")
	flag.IntVar(&s.records, "records", 20_000, "records to feed")
	flag.IntVar(&s.events, "events", 20, "kills of stages, joins and leaves, freezes, or restarts of brokers")
	flag.IntVar(&s.brokerKills, "broker-kills", 2, "kills of brokers among the kills of stages")
	flag.DurationVar(&s.pause, "pause", 1500*time.Millisecond, "time from event to event")
	flag.DurationVar(&s.session, "session", 2*time.Second, "session timeout of the group")
	flag.IntVar(&s.stages, "stages", 3, "stages at work")
	flag.StringVar(&s.binary, "binary", "", "slkstream to run; none: it is built")
	count := flag.Int("histories", 1000, "how many random histories")
	atOnce := flag.Int("at-once", 4, "how many of them at a time")
	verbose := flag.Bool("v", false, "print the history as it happens")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if s.name == "histories" {
		err = playHistories(ctx, s.seed, *count, *atOnce)
	} else {
		err = s.run(ctx, *verbose)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

var errBroken = errors.New("a promise is broken")

// playHistories plays histories with seeds from first on and stops at the first that breaks a promise.
func playHistories(ctx context.Context, first uint64, count, atOnce int) error {
	began := time.Now()
	var next, once atomic.Int64
	var broken atomic.Bool
	var players sync.WaitGroup
	for range atOnce {
		players.Go(func() {
			for !broken.Load() && ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(count) {
					return
				}
				seed := first + uint64(i)
				h, err := runHistory(ctx, seed, sound)
				if err != nil {
					h.violation("the history cannot be played: %v", err)
				}
				if len(h.failed()) > 0 && !broken.Swap(true) {
					fmt.Printf("seed %d:\n%s\n", seed, h.last(0))
				}
				once.Add(1)
			}
		})
	}
	players.Wait()
	if broken.Load() {
		return errBroken
	}
	fmt.Printf("%d histories, seeds %d to %d, in %v: 0 violations\n", once.Load(), first, first+uint64(count)-1, time.Since(began).Round(time.Second))
	return ctx.Err()
}
