// Package importable holds the public packages to what a stranger's module may do with them.
package importable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A module of its own imports the public packages, and its examples and theirs run there. It works offline:
// what the packages need is in the module cache since this test was built.
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
	for name, text := range map[string]string{
		"go.mod": strings.Replace(read("test", "stranger", "go.mod"), "=> ../..",
			"=> "+filepath.ToSlash(tree), 1),
		"go.sum":           read("go.sum"),
		"stranger_test.go": read("test", "stranger", "stranger_test.go"),
	} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const ours = "github.com/slkstream/slkstream/"
	list := []string{
		"test", "-run", "Example", ".", ours + "solver", ours + "solver/metric",
		ours + "solver/stream", ours + "index",
	}
	c := exec.Command("go", list...)
	c.Dir = module
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
