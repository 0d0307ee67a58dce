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

// eachNode passes every node of every Go file of the product to use, with its place.
func eachNode(t *testing.T, use func(node ast.Node, at func(ast.Node) token.Position)) {
	t.Helper()
	files := token.NewFileSet()
	at := func(node ast.Node) token.Position { return files.Position(node.Pos()) }
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			use(node, at)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The keys of log lines are written in one style, words joined by underscores, so that a search over logs
// finds a value by one name. Kafka's cleanup.policy keeps its own name.
func TestLogKeys(t *testing.T) {
	styled := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	levels := []string{"Debug", "Info", "Warn", "Error"}
	keys := 0
	eachNode(t, func(node ast.Node, at func(ast.Node) token.Position) {
		call, is := node.(*ast.CallExpr)
		if !is {
			return
		}
		method, is := call.Fun.(*ast.SelectorExpr)
		if !is || !slices.Contains(levels, method.Sel.Name) || call.Ellipsis.IsValid() {
			return
		}
		if of, is := method.X.(*ast.Ident); is && of.Name == "http" {
			return // http.Error
		}
		for i := 1; i < len(call.Args); i += 2 {
			literal, is := call.Args[i].(*ast.BasicLit)
			if !is {
				continue
			}
			key, err := strconv.Unquote(literal.Value)
			if keys++; err == nil && !styled.MatchString(key) && key != "cleanup.policy" {
				t.Errorf("%s: log key %q", at(literal), key)
			}
		}
	})
	if keys < 100 {
		t.Errorf("%d log keys found", keys)
	}
}

// Code speaks of records, indexes, offsets, counters and synchronisation, as its field does. These names had
// several meanings each.
func TestWordsThatAreGone(t *testing.T) {
	gone := []string{
		"book", "owed", "tally", "meeting", "outlook", "place", "places", "look", "looks",
		"wing", "wings", "ghost", "ghosts", "former", "formers", "keeper", "recalled",
	}
	eachNode(t, func(node ast.Node, at func(ast.Node) token.Position) {
		if name, is := node.(*ast.Ident); is &&
			(name.Name == "answered" || slices.Contains(gone, strings.ToLower(name.Name))) {
			t.Errorf("%s: %s", at(name), name.Name)
		}
	})
}

// The clock of the machine may be set while the stage runs, by hours or by years: no duration is a difference of its
// readings. What time.Now returns is compared as it is; telemetry.Uptime is for moments kept as numbers.
func TestNoDurationOfTheMachinesClock(t *testing.T) {
	eachNode(t, func(node ast.Node, at func(ast.Node) token.Position) {
		if s, is := node.(*ast.SelectorExpr); is && s.Sel.Name == "UnixNano" {
			t.Errorf("%s: nanoseconds of Unix time", at(s))
		}
	})
}

// A sleep stands for no condition. It is the pace of a loop that looks for one, after its condition, or says beside it
// that it is a pace, a fault, or the test's subject.
func TestSleepsOfTests(t *testing.T) {
	said := regexp.MustCompile(`^// (pace|fault|subject): ..`)
	found := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		explained := map[int]bool{} // lines
		for _, group := range parsed.Comments {
			for _, c := range group.List {
				explained[files.Position(c.Pos()).Line] = said.MatchString(c.Text)
			}
		}
		paces := map[ast.Node]bool{}
		ast.Inspect(parsed, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.ForStmt:
				if post, is := n.Post.(*ast.ExprStmt); is {
					paces[post.X] = true
				}
			case *ast.CallExpr:
				f, is := n.Fun.(*ast.SelectorExpr)
				if !is || f.Sel.Name != "Sleep" || paces[n] {
					break
				}
				at := files.Position(n.Pos())
				if found++; !explained[at.Line] {
					t.Errorf("%s: a sleep that does not say why", at)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Error("no sleep found: the test looks in the wrong place")
	}
}
