//go:build docs

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// untilStopped says whether a command runs until stopped. Such commands get a few seconds, in which they
// must not end.
func untilStopped(line string) bool {
	args, ours := ourArguments(line)
	if !ours || len(args) == 0 {
		return false
	}
	switch args[0] {
	case "run", "broker":
		return true
	case "demo":
		return !strings.Contains(line, "--for")
	case "feed":
		return strings.Contains(line, "--loop")
	}
	return false
}

// elsewhere returns why a line is not run here, or "".
func elsewhere(line string) string {
	switch {
	case line == "go test ./..." || strings.HasPrefix(line, ".ci/run"):
		return ".ci/run runs it: this test is part of that"
	case strings.HasPrefix(line, "docker"):
		return "no container engine here; test/compose tests the file"
	case strings.HasPrefix(line, "go run ./bench"), strings.HasPrefix(line, "go run ./internal/chaos"),
		strings.HasPrefix(line, "go run ./test/kafka"):
		return "a step of its own runs it"
	case strings.HasPrefix(line, "pip install"):
		return "a step of its own runs it"
	case strings.Contains(line, "git clone"):
		return "the test has its own copy"
	case strings.Contains(line, "$D"):
		return "needs data sets that are not in the tree: TestEvaluationsOfTheDocsRun"
	case strings.Contains(line, "kafka:9092") || strings.Contains(line, "shared/data"):
		return "needs what a clean clone does not have"
	}
	return ""
}

// TestCommandsOfTheDocsRun runs the commands of the docs in a copy of the tree, as a user would.
func TestCommandsOfTheDocsRun(t *testing.T) {
	tree := copyOfTheTree(t)
	env := installed(t, tree, filepath.Join(tree, "bin"))
	blocks := shellBlocks(t)
	for i, b := range blocks {
		t.Run(fmt.Sprintf("%s %d", b.page, i), func(t *testing.T) { runBlock(t, tree, env, b) })
		last := i+1 == len(blocks) || blocks[i+1].page != b.page
		if last && (b.page == "README.md" || b.page == "get-started.md") {
			t.Run(b.page+" answers", func(t *testing.T) { rightAnswers(t, tree, env) })
		}
	}
}

// rightAnswers checks what the commands have written to the results topic so far: names that were taught,
// most of them right.
func rightAnswers(t *testing.T, tree string, env []string) {
	s := start(t, tree, env, "slkstream tail results --to latest --full")
	if err := s.wait(time.Minute); err != nil {
		t.Fatalf("%v: %s", err, s.said.String())
	}
	all, right := 0, 0
	for line := range strings.Lines(s.said.String()) {
		var result struct {
			Label      string
			Attributes struct{ Truth string }
		}
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if strings.HasPrefix(result.Label, "cluster-") {
			t.Fatalf("a result without a name: %.200s", line)
		}
		all++
		if result.Label == result.Attributes.Truth {
			right++
		}
	}
	if all < 50 || 10*right < 7*all {
		t.Errorf("%d of %d results are right", right, all)
	}
}

// dataVariable names the folder of the data sets that evaluations in the docs need.
const dataVariable = "SLKSTREAM_TEST_DATA"

// fewer matches the number of tasks or streams in a command.
var fewer = regexp.MustCompile(`--(tasks|trials) \d+`)

// TestEvaluationsOfTheDocsRun runs the docs' evaluations on the data sets that the environment names, with
// the fewest tasks and streams that make sense.
func TestEvaluationsOfTheDocsRun(t *testing.T) {
	data := os.Getenv(dataVariable)
	if data == "" {
		t.Skipf("%s names no folder of data sets; .ci runs this where there is one", dataVariable)
	}
	tree, bin := copyOfTheTree(t), t.TempDir()
	env := installed(t, tree, bin)
	ran := 0
	for _, b := range shellBlocks(t) {
		for _, line := range b.lines {
			if !strings.HasPrefix(line, "slkstream ") || !strings.Contains(line, "$D") {
				continue
			}
			small := fewer.ReplaceAllStringFunc(line, func(flag string) string {
				if strings.HasPrefix(flag, "--trials") {
					return "--trials 1"
				}
				return "--tasks 9"
			})
			t.Run(small, func(t *testing.T) {
				if err := start(t, tree, append(env, "D="+data), small).wait(8 * time.Minute); err != nil {
					t.Fatal(err)
				}
			})
			ran++
		}
	}
	if ran == 0 {
		t.Error("the docs have no evaluation")
	}
}

// installed builds the tree's program into a folder and returns an environment that finds it there.
func installed(t *testing.T, tree, bin string) []string {
	t.Helper()
	install := exec.Command("go", "install", "./cmd/slkstream")
	install.Dir, install.Env = tree, append(os.Environ(), "GOBIN="+bin)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return append(os.Environ(), "GOBIN="+bin, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"SLKSTREAM_LOG_LEVEL=warn")
}

func runBlock(t *testing.T, tree string, env []string, b block) {
	var background []*shell
	for _, line := range b.lines {
		if why := elsewhere(line); why != "" {
			t.Logf("not run: %s: %s", line, why)
			continue
		}
		s := start(t, tree, env, line)
		if !untilStopped(line) {
			if err := s.wait(3 * time.Minute); err != nil {
				t.Errorf("%s: %v: %s", line, err, s.said.String())
			}
			continue
		}
		background = append(background, s)
		select {
		case err := <-s.ended:
			t.Errorf("%s: ended by itself: %v: %s", line, err, s.said.String())
			background = background[:len(background)-1]
		case <-time.After(4 * time.Second):
		}
	}
	for i := len(background) - 1; i >= 0; i-- {
		s := background[i]
		if err := syscall.Kill(-s.process.Process.Pid, syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := s.wait(time.Minute); err != nil {
			t.Errorf("%s: stopped: %v: %s", s.line, err, s.said.String())
		}
	}
}

// shell is a running line of a document.
type shell struct {
	line    string
	process *exec.Cmd
	said    bytes.Buffer
	ended   chan error
}

func start(t *testing.T, tree string, env []string, line string) *shell {
	t.Helper()
	// exec, so that the program gets the signal and returns its own exit code; go run passes neither on.
	line = strings.Replace(line, fromSource, "slkstream", 1)
	script := line
	if _, ours := ourArguments(line); ours && !strings.Contains(line, " | ") {
		script = "exec " + line
	}
	s := &shell{
		line: line, process: exec.Command("bash", "-c", "set -o pipefail; "+script),
		ended: make(chan error, 1),
	}
	s.process.Dir, s.process.Env = tree, env
	s.process.Stdout, s.process.Stderr = &s.said, &s.said
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.ended <- s.process.Wait() }()
	return s
}

func (s *shell) wait(limit time.Duration) error {
	select {
	case err := <-s.ended:
		return err
	case <-time.After(limit):
		return fmt.Errorf("still runs after %v: %w", limit, syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL))
	}
}

// copyOfTheTree makes a clean clone, and adds uncommitted changes.
func copyOfTheTree(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list := exec.CommandContext(ctx, "git", "ls-files", "-co", "--exclude-standard")
	list.Dir = "../.."
	names, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	for name := range strings.Lines(string(names)) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) {
			continue // deleted, not committed
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(tree, name), content, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}
