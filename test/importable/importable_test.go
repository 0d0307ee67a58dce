// Package importable holds the public packages to what a stranger's module may do with them.
package importable

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A module of its own imports the public packages. Its examples and theirs run there, and the programs of
// docs/library.md print what that page says. It works offline: what the packages need is in the module cache since
// this test was built.
func TestStrangersModule(t *testing.T) {
	tree, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module := t.TempDir()
	read := func(parts ...string) string {
		b, err := os.ReadFile(filepath.Join(append([]string{tree}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	run := func(args ...string) string {
		c := exec.Command("go", args...)
		c.Dir = module
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	files := map[string]string{
		"go.mod": strings.Replace(read("test", "stranger", "go.mod"), "=> ../..",
			"=> "+filepath.ToSlash(tree), 1),
		"go.sum":           read("go.sum"),
		"stranger_test.go": read("test", "stranger", "stranger_test.go"),
	}
	programs := program.FindAllStringSubmatch(read("docs", "library.md"), -1)
	if len(programs) != 2 {
		t.Fatalf("docs/library.md has %d programs with what they print, not 2", len(programs))
	}
	for i, p := range programs {
		files[fmt.Sprintf("program-%d.go", i)] = p[1]
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range programs {
		name := fmt.Sprintf("program-%d.go", i)
		if got := run("run", name); got != p[2] {
			t.Errorf("program %d of docs/library.md prints\n%s, not\n%s", i, got, p[2])
		}
		if err := os.Remove(filepath.Join(module, name)); err != nil {
			t.Fatal(err)
		}
	}
	const ours = "github.com/slkstream/slkstream/"
	run("test", "-run", "Example", ".", ours+"solver", ours+"solver/metric", ours+"solver/stream", ours+"index")
}

// program matches a whole program of a page and what it prints.
var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```\n\n```text\n(.*?)```")
