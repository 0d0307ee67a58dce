package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

var update = flag.Bool("update", false, "write the files of testdata anew that hold what commands print")

// TestMain lets scripts call slkstream: this test's binary, as a separate process.
func TestMain(m *testing.M) { testscript.Main(tests{m}, map[string]func(){"slkstream": main}) }

type tests struct{ *testing.M }

func (m tests) Run() int {
	brokertest.Beside()
	return m.M.Run()
}

// TestScripts runs testdata/script: what a user types, and the expected output. Besides testscript's own
// commands there is
//
//	until PATTERN COMMAND...
//
// which repeats a command until it succeeds and its output matches.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: *update,
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"until": scriptUntil},
	})
}

func scriptUntil(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN COMMAND...")
	}
	wanted, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	const patience = 2 * time.Minute
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if err == nil && wanted.MatchString(said) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s: never says %s: %v\n%s", strings.Join(args[1:], " "), args[0], err, said)
		}
	}
}

// testdata/help.txt is the help of every command.
func TestHelp(t *testing.T) {
	var all bytes.Buffer
	var show func(*cobra.Command)
	show = func(cmd *cobra.Command) {
		if parent := cmd.Parent(); cmd.Name() == "completion" || cmd.Name() == "help" || parent != nil &&
			parent.Name() == "config" {
			return // cobra's own command, with the same settings
		}
		all.WriteString("$ " + cmd.CommandPath() + " --help\n")
		code, out, _ := runLine(t, append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		if code != exitDone {
			t.Errorf("%s --help: exit %d", cmd.CommandPath(), code)
		}
		all.WriteString(out + "\n")
		for _, sub := range cmd.Commands() {
			show(sub)
		}
	}
	show(newRootCommand(nil))
	path := filepath.Join("testdata", "help.txt")
	if *update {
		if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(want, all.Bytes()) {
		t.Errorf("help is not what %s holds (%v): go test ./cmd/slkstream -run TestHelp -update, and read what changed", path, err)
	}
	for line := range strings.Lines(all.String()) {
		if len([]rune(strings.TrimRight(line, "\n"))) > 120 {
			t.Errorf("too wide for a terminal: %s", line)
		}
	}
}
