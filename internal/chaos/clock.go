package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockVariable says to a program with settable when its clock is set, and by how much: SECONDS:BY,... in seconds since
// it started, and off the machine's clock.
const clockVariable = "CHAOS_CLOCK"

// settable follows Go's time.Now, in which it is called.
const settable = `
var clockSet = func() (list [][2]int64) {
	text, _ := syscall.Getenv("` + clockVariable + `")
	n, sign, after := int64(0), int64(1), int64(0)
	for _, c := range text + "," {
		switch c {
		case '-':
			sign = -1
		case ':':
			after, n = n, 0
		case ',':
			list = append(list, [2]int64{after, n * sign})
			n, sign = 0, 1
		default:
			n = 10*n + int64(c-'0')
		}
	}
	return list
}()

func setBy(mono int64) (by int64) {
	for _, set := range clockSet {
		if mono >= set[0]*1e9 {
			by = set[1]
		}
	}
	return by
}
`

// build builds the program that the scenario plays with.
func (s *scenario) build(ctx context.Context) error {
	args := []string{"build", "-o", s.binary}
	if s.clock != "" {
		set, err := withSettableClock(ctx, s.dir)
		if err = errors.Join(err, os.Setenv(clockVariable, s.clock)); err != nil {
			return err
		}
		args = append(args, set...)
	}
	args = append(args, "github.com/slkstream/slkstream/cmd/slkstream")
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build slkstream: %w\n%s", err, out)
	}
	return nil
}

// withSettableClock returns the arguments of go build for a program whose wall clock is set while it runs, as an
// administrator or a time server does; what measures durations goes on as ever. Go's package time is changed for it.
func withSettableClock(ctx context.Context, dir string) ([]string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go's own packages: %w", err)
	}
	from, to := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go"), filepath.Join(dir, "time.go")
	source, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	text := string(source)
	for _, change := range [][2]string{
		{"import (\n", "import (\n\t\"syscall\"\n"}, {"\tmono -= startNano\n", "\tmono -= startNano\n\tsec += setBy(mono)\n"},
	} {
		if !strings.Contains(text, change[0]) {
			return nil, errors.New("the package time of this version of Go is another than this play knows")
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {from: to}})
	if err != nil {
		return nil, err
	}
	list := filepath.Join(dir, "overlay.json")
	err = errors.Join(os.WriteFile(to, []byte(text+settable), 0o600), os.WriteFile(list, overlay, 0o600))
	return []string{"-overlay", list}, err
}
