// Command chaos breaks a running stage on purpose, from a seed, and checks its promises: no item lost, no
// duplicates with exactly once, the answers of an undisturbed run, order within a stream, committed offsets
// that never move backwards. It prints a report or, after a violation, the seed and the history of events.
// internal/chaos/README.md describes its scenarios.
//
//	go run ./internal/chaos -scenario kills -delivery exactly-once
//	go run ./internal/chaos -scenario histories -histories 5000
//	go run ./internal/chaos -scenario hostile -for 2h -csv hostile.csv -graph hostile.svg
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	s := scenario{}
	flag.StringVar(
		&s.name,
		"scenario",
		"kills",
		"kills, storm, zombie, rolling, upgrade, cut, mixed, names, now, hostile, recovery, taught: processes on brokers; histories: short random ones in this process",
	)
	flag.Uint64Var(&s.seed, "seed", 1, "start of every random choice")
	flag.StringVar(&s.delivery, "delivery", "exactly-once", "promise the stages run with: at-least-once or exactly-once")
	flag.StringVar(&s.broker, "broker", "", "real: Apache Kafka; embedded; default real, with -table embedded")
	flag.IntVar(&s.brokers, "brokers", 1, "how many real brokers; rolling wants 3")
	flag.IntVar(&s.records, "records", 20_000, "records to feed; of taught, labels")
	flag.IntVar(&s.events, "events", 20, "kills of stages, joins and leaves, freezes, or restarts of brokers")
	flag.IntVar(&s.brokerKills, "broker-kills", 2, "kills of brokers among the kills of stages")
	flag.DurationVar(&s.away, "away", 0, "how long a broker is away, 0: at random; of -table: a fault")
	flag.DurationVar(&s.pause, "pause", 1500*time.Millisecond, "time from event to event")
	flag.DurationVar(&s.session, "session", 2*time.Second, "session timeout of the group; with -table stall-after too")
	flag.DurationVar(&s.target, "recovery-target", 10*time.Second, "--recovery-target of the stages of recovery and taught")
	flag.IntVar(&s.stages, "stages", 3, "stages at work")
	flag.StringVar(&s.binary, "binary", "", "slkstream to run; none: it is built")
	flag.StringVar(
		&s.clock,
		"clock",
		"",
		"SECONDS:BY,... when the clock of stages and of the embedded broker is set, and by how many seconds",
	)
	flag.DurationVar(&s.long, "for", 2*time.Hour, "how long hostile lasts, and each stage of taught")
	flag.Float64Var(&s.rate, "rate", 40, "records a second that hostile and taught feed")
	flag.Float64Var(&s.rubbish, "rubbish", .05, "share of hostile's records that do harm")
	flag.StringVar(&s.csv, "csv", "", "file for hostile's memory, lag and waits over time")
	flag.StringVar(&s.graph, "graph", "", "file for a picture (SVG) of the same")
	flag.IntVar(&s.streams, "streams", recoveryStreams, "streams of recovery and taught")
	count := flag.Int("histories", 1000, "how many random histories")
	atOnce := flag.Int("at-once", 4, "how many of them at a time")
	mistake := flag.String(
		"mistake",
		"",
		"play histories with a build that holds this mistake, until it is found: offsets-first, epoch-unchecked, sequence-reused, state-outside",
	)
	table := flag.Bool("table", false, "play every way in which something that the stage needs fails")
	short := flag.Bool("short", false, "of the table, only what CI plays")
	only := flag.String("only", "", "of the table, only cells whose name contains this")
	page := flag.String("page", "", "file for the page of what -table played; none: not written")
	verbose := flag.Bool("v", false, "print the history as it happens")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if s.broker == "" {
		s.broker = map[bool]string{true: "embedded", false: "real"}[*table]
	}
	if *table {
		t := tableSettings{
			broker: s.broker, page: *page, only: *only, short: *short, atOnce: *atOnce,
			session: s.session, hold: s.away,
		}
		err = t.play(ctx)
	} else if *mistake != "" {
		err = sought(ctx, s.seed, *count, fault(*mistake))
	} else if s.name == "histories" {
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

// playHistories plays histories with seeds from first on and stops at the first that breaks a promise. A
// history waits more than it computes, so several are played at once.
func playHistories(ctx context.Context, first uint64, count, atOnce int) error {
	began := time.Now()
	before := runtime.NumGoroutine()
	var next, played atomic.Int64
	var failure error
	var once sync.Once
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var players sync.WaitGroup
	for range atOnce {
		players.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(count) {
					return
				}
				seed := first + uint64(i)
				h, err := runHistory(ctx, seed, sound, sound)
				if err == nil && len(h.failed()) > 0 {
					err = errBroken
				}
				if err != nil {
					once.Do(func() { failure = fmt.Errorf("seed %d: %w\n%s", seed, err, h.last(0)) })
					stop()
					return
				}
				played.Add(1)
			}
		})
	}
	players.Wait()
	if failure != nil {
		return failure
	}
	for waited := time.Now(); runtime.NumGoroutine() > before; time.Sleep(50 * time.Millisecond) {
		if time.Since(waited) > 30*time.Second {
			return fmt.Errorf(
				"%d goroutines are left of the histories, %d were there before:\n%s",
				runtime.NumGoroutine(),
				before,
				goroutines(),
			)
		}
	}
	fmt.Printf(
		"%d histories, seeds %d to %d, in %v: 0 violations\n",
		played.Load(),
		first,
		first+uint64(count)-1,
		time.Since(began).Round(time.Second),
	)
	return ctx.Err()
}

// sought searches for a mistake and reports how it was found.
func sought(ctx context.Context, first uint64, count int, f fault) error {
	if _, known := mistakes[f]; !known {
		return fmt.Errorf("mistake %q is none of offsets-first, epoch-unchecked, sequence-reused, state-outside", f)
	}
	played, violation, err := findMistake(ctx, first, count, f)
	if err == nil {
		fmt.Printf("mistake %s, seeds from %d: found by history %d: %s\n", f, first, played, violation)
	}
	return err
}

func goroutines() string {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1) // cannot fail: a strings.Builder
	return text.String()
}
