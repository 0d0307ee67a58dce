package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// agreeing are the sections of settings that answers depend on.
var agreeing = []string{"Topics", "Records in", "Episodes", "Schema registry", "Answers and memory", "Solver", "Neighbours"}

// ofProcess are the settings of those sections that a process may have to itself.
var ofProcess = []string{
	"in", "group", "support", "support-labels", "solver", "transit", "memory", "recent", "recovery-target", "schema-registry",
}

// agreed returns the settings in which the processes of a group must agree, by name: those that differ from their
// defaults. Files are compared by what they hold.
func agreed(c *config.Config, support []taught.Example) (map[string]string, error) {
	byDefault := map[string]string{}
	for _, s := range config.Default(c.Command()).Settings() {
		byDefault[s.Name] = s.Value()
	}
	agreed := map[string]string{}
	for _, s := range c.Settings() {
		if slices.Contains(agreeing, s.Section) && !slices.Contains(ofProcess, s.Name) && s.Value() != byDefault[s.Name] {
			agreed[s.Name] = s.Value()
		}
	}
	if held := taught.Digest(support); held != "" {
		agreed["support"] = held
	}
	for name, file := range map[string]string{"solver": c.Solver.File, "transit": c.Memory.Transit} {
		if file == "" {
			continue
		}
		held, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		agreed[name] = fmt.Sprintf("%x", sha256.Sum256(held))[:16]
	}
	return agreed, nil
}
