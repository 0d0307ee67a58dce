package main

import (
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// histories returns how many histories a test plays: normal, or the number in the environment.
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

// Random histories, each with its own faults, keep every promise.
func TestRandomHistoriesKeepThePromises(t *testing.T) {
	if err := playHistories(t.Context(), 1, histories(t, 30), 4); err != nil {
		t.Error(err)
	}
}

// A build with a known mistake is found by that mistake's effect on its answers; a correct build keeps its
// promises in a history with the same aim.
func TestEveryMistakeIsFound(t *testing.T) {
	for f := range mistakes {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			played, violation, err := findMistake(t.Context(), 1, 5, f)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("found by history %d: %s", played, violation)
			h, err := runHistory(t.Context(), 1, f, sound)
			if err != nil || len(h.failed()) > 0 {
				t.Errorf("a sound build breaks a promise: %v\n%s", err, h.last(0))
			}
		})
	}
}
