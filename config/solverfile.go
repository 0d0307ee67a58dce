package config

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// SolverFile stands for a command under which the settings of a solver file are defined.
const SolverFile = "solver"

// Purposes returns the purposes that a solver file's numbers may have.
func Purposes() []string { return purposes }

// Numbers returns the settings of a solver file, with their values in c.
func (c *Config) Numbers() []Setting { return c.settingsOf(SolverFile) }

// readSolver takes every number from the file that the setting solver names, except those that
// are given themselves.
func (c *Config) readSolver() Faults {
	name := c.Solver.File
	if name == "" || !c.takes("solver") {
		return nil
	}
	var known []string
	for _, s := range c.Numbers() {
		known = append(known, s.Name)
	}
	entries, faults := readFile(name, "solver", known)
	if entries == nil && len(faults) > 0 {
		return faults
	}
	fail := func(at, format string, args ...any) {
		faults = append(faults, Fault{Problem: at + ": " + fmt.Sprintf(format, args...)})
	}
	var missing []string
	for _, s := range c.Numbers() {
		e, found := entries[s.Name]
		switch {
		case !found || len(e.values) == 0:
			missing = append(missing, s.Name)
		case c.Given(s.Name) && s.Name != "for": // given for this run
		case s.Name == "method" && c.command == "eval file": // eval file compares several
		case s.Name == "seed" && c.takes("seed"): // it decides what is drawn, too
		default:
			if err := s.set(e.values); err != nil {
				fail(e.origin.Where, "%s: %v", s.Name, err)
			} else if problem := s.breach(); problem != "" {
				fail(e.origin.Where, "%s %s", s.Name, problem)
			}
		}
	}
	if len(missing) > 0 {
		fail(name, "%s missing: a solver file has every number, as slkstream tune and slkstream config solver "+
			"write them", strings.Join(missing, ", "))
	}
	files := []string{"label", "eval file"}
	if of := c.Solver.For; of != "" && (of == "file") != slices.Contains(files, c.command) {
		fail(name, "its numbers are for %s: %s needs a file from tune --for %s", of, c.command,
			map[bool]string{true: "file", false: "stream"}[slices.Contains(files, c.command)])
	}
	return faults
}

// WriteSolver writes a solver file: a heading, and each number with its help.
func WriteSolver(w io.Writer, heading string, values map[string]string) error {
	var text strings.Builder
	for line := range strings.Lines(heading) {
		text.WriteString("# " + strings.TrimSuffix(line, "\n") + "\n")
	}
	for _, s := range new(Config).Numbers() {
		fmt.Fprintf(&text, "%-24s # %s%s\n", s.Name+": "+scalar(values[s.Name]), s.Help, inBrackets(s.Bound()))
	}
	_, err := io.WriteString(w, text.String())
	return err
}
