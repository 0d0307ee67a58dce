package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The keys of log lines are written in one style, words joined by underscores, so that a search over logs
// finds a value by one name. Kafka's cleanup.policy keeps its own name.
func TestLogKeys(t *testing.T) {
	styled := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	levels := []string{"Debug", "Info", "Warn", "Error"}
	calls := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			call, is := node.(*ast.CallExpr)
			if !is {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if !is || !slices.Contains(levels, method.Sel.Name) || call.Ellipsis.IsValid() {
				return true
			}
			if of, is := method.X.(*ast.Ident); is && of.Name == "http" {
				return true // http.Error
			}
			for i := 1; i < len(call.Args); i += 2 {
				literal, is := call.Args[i].(*ast.BasicLit)
				if !is {
					continue
				}
				key, err := strconv.Unquote(literal.Value)
				if calls++; err == nil && !styled.MatchString(key) && key != "cleanup.policy" {
					t.Errorf("%s: log key %q", files.Position(literal.Pos()), key)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || calls < 100 {
		t.Errorf("%d keys: %v", calls, err)
	}
}
