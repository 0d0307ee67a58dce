package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// README first says what run gives with its defaults, then label, and only then few-shot tasks: first without
// earlier data, as run and label answer them, then with a metric from other tasks.
func TestReadmeBeginsWithWhatUsersGet(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var order []string // of the sections of RESULTS.md that the figures come from
	for _, found := range regexp.MustCompile(`<!-- figure ([^ ]+) -->`).FindAllStringSubmatch(string(text), -1) {
		section, _, _ := strings.Cut(found[1], ".")
		if section == "fewshot" || section == "battery" {
			section = strings.Join(strings.Split(found[1], ".")[:2], ".")
		}
		if !slices.Contains(order, section) {
			order = append(order, section)
		}
	}
	want := []string{"battery.stream", "files", "fewshot.default-cold", "fewshot.best-peer", "fewshot.default"}
	if len(order) < len(want) || !slices.Equal(order[:len(want)], want) {
		t.Errorf("README quotes %v, want first %v", order, want)
	}
}

// A number of the solver that an answering command would ignore is refused. So is a variable that is nearly a
// setting.
func TestSettingsThatDoNothingAreRefused(t *testing.T) {
	for _, line := range []string{
		"run --in a --out b", "backfill --in a --out b --job j",
		"correct --in a --out b --labels c --corrections d",
		"label --input x.npy --k 2 --output y.npy", "demo", "check --in a --out b",
	} {
		code, _, messages := runLine(t, append(strings.Fields(line), "--metric-between", "0.5")...)
		if code != exitUsage || !strings.Contains(messages, "--solver") {
			t.Errorf("%s: exit %d: %s", line, code, messages)
		}
	}
	t.Setenv("SLKSTREAM_EPISODE_SIZ", "40")
	for _, line := range []string{"config run --in a --out b", "demo --for 1s", "version"} {
		code, _, messages := runLine(t, strings.Fields(line)...)
		if code != exitUsage || !strings.Contains(messages, "did you mean SLKSTREAM_EPISODE_SIZE?") {
			t.Errorf("%s: exit %d: %s", line, code, messages)
		}
	}
}
