package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/config"
)

// block is a sequence of commands in a document that belong together: a fence marked sh.
type block struct {
	page  string
	lines []string
}

// shellBlocks returns the commands of every document. A line that ends in a backslash continues.
func shellBlocks(t *testing.T) []block {
	t.Helper()
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	for _, path := range append([]string{"../../README.md", "../../ARCHITECTURE.md"}, documents...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var open *block
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
			line = strings.TrimSpace(line)
			switch {
			case line == "```sh":
				open = &block{page: filepath.Base(path)}
			case line == "```" && open != nil:
				blocks = append(blocks, *open)
				open = nil
			case open != nil && line != "" && !strings.HasPrefix(line, "#"):
				open.lines = append(open.lines, line)
			}
		}
	}
	return blocks
}

// fromSource runs the program without installing it, like the first command of the docs.
const fromSource = "go run -tags lean ./cmd/slkstream"

// ourArguments returns the arguments of a line that calls slkstream, without redirections and pipes.
func ourArguments(line string) (args []string, ours bool) {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	for _, call := range []string{"slkstream ", fromSource + " "} {
		if rest, found := strings.CutPrefix(line, call); found {
			return strings.Fields(rest), true
		}
	}
	return nil, false
}

// The program accepts every command of the docs. docs_run_test.go runs them.
func TestCommandsOfTheDocs(t *testing.T) {
	seen := 0
	for _, b := range shellBlocks(t) {
		for _, line := range b.lines {
			args, ours := ourArguments(line)
			if !ours {
				continue
			}
			seen++
			cmd, rest, err := newRootCommand(args).Find(args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && cmd.Args != nil {
				err = cmd.Args(cmd, cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %s: %v", b.page, line, err)
				continue
			}
			name := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "slkstream"), " ")
			if name = strings.TrimPrefix(name, "config "); name == "config" {
				name = "run"
			}
			if _, err := config.Load(name, cmd.Flags(), nil); err != nil && !strings.Contains(line, "--config") &&
				!strings.HasPrefix(line, "slkstream config") {
				t.Errorf("%s: %s: %v", b.page, line, err)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d commands found: is the README's fence still marked sh?", seen)
	}
}
