package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// histories is how many a test plays; more are asked for by the environment.
func histories(t *testing.T, normal int) int {
	if text := os.Getenv("SLKSTREAM_TEST_HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return normal
}

// atOnce is how many histories are played at a time: each waits more than it computes.
const atOnce = 4

// play plays histories from the first seed on, until stop says that one was enough.
func play(t *testing.T, first uint64, n int, f fault, stop func(seed uint64, h *history) bool) {
	t.Helper()
	var next atomic.Uint64
	var enough atomic.Bool
	var players sync.WaitGroup
	for range atOnce {
		players.Go(func() {
			for !enough.Load() {
				i := next.Add(1) - 1
				if i >= uint64(n) {
					return
				}
				h, err := runHistory(context.Background(), first+i, f)
				if err != nil {
					t.Errorf("seed %d: %v\n%s", first+i, err, h.last(60))
					return
				}
				if stop(first+i, h) {
					enough.Store(true)
				}
			}
		})
	}
	players.Wait()
}

// Random histories, each with its own faults, keep every promise.
func TestRandomHistoriesKeepThePromises(t *testing.T) {
	play(t, 1, histories(t, 30), sound, func(seed uint64, h *history) bool {
		if len(h.failed()) > 0 {
			t.Errorf("seed %d breaks a promise:\n%s", seed, h.last(0))
			return true
		}
		return false
	})
}

// A build with a known mistake does not get through, and is found by what that mistake does to its answers.
func TestEveryMistakeIsFound(t *testing.T) {
	for _, m := range []struct {
		fault fault
		signs []string
	}{
		{offsetsFirst, []string{"lost"}},
		{epochUnchecked, []string{"twice", "backwards"}},
		{sequenceReused, []string{"lost", "stuck"}},
		{stateOutside, []string{"lost", "twice"}},
	} {
		t.Run(string(m.fault), func(t *testing.T) {
			t.Parallel()
			var found atomic.Bool
			play(t, 1, 300, m.fault, func(seed uint64, h *history) bool {
				for _, v := range h.failed() {
					for _, sign := range m.signs {
						if strings.HasPrefix(v, sign) {
							if !found.Swap(true) {
								t.Logf("found with seed %d: %s", seed, v)
							}
							return true
						}
					}
				}
				return false
			})
			if !found.Load() {
				t.Error("300 histories do not find it")
			}
		})
	}
}
