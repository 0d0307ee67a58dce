package config

import (
	"slices"
	"testing"
)

// No command takes a setting twice.
func TestNoCommandTakesASettingTwice(t *testing.T) {
	for _, section := range new(Config).sections() {
		for _, d := range section.settings {
			taken := takers(d)
			slices.Sort(taken)
			if n := len(taken); len(slices.Compact(taken)) != n {
				t.Errorf("%s is taken twice by one of %v", d[0].Name, takers(d))
			}
		}
	}
}
