// Command weigh prints how much of a build's processor time each module takes, from the action graph
// that go build writes:
//
//	go build -debug-actiongraph=actions.json ./cmd/slkstream
//	go run ./internal/weigh actions.json
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strings"
	"time"
)

// action is one step of a build. Times are processor time in nanoseconds.
type action struct {
	Package string
	CmdUser time.Duration
	CmdSys  time.Duration
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: weigh actions.json")
		os.Exit(2)
	}
	if err := weigh(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "weigh:", err)
		os.Exit(1)
	}
}

func weigh(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var actions []action
	if err := json.Unmarshal(text, &actions); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	modules, err := moduleOf()
	if err != nil {
		return err
	}
	spent := map[string]time.Duration{}
	total := time.Duration(0)
	for _, a := range actions {
		module := modules[a.Package]
		if module == "" {
			module = "the standard library, and linking"
		}
		spent[module] += a.CmdUser + a.CmdSys
		total += a.CmdUser + a.CmdSys
	}
	names := make([]string, 0, len(spent))
	for name := range spent {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		return spent[names[i]] > spent[names[j]] || spent[names[i]] == spent[names[j]] && names[i] < names[j]
	})
	for _, name := range names {
		fmt.Printf("%8.1f s  %4.1f %%  %s\n", spent[name].Seconds(), 100*spent[name].Seconds()/total.Seconds(),
			name)
	}
	fmt.Printf("%8.1f s of processor time in all\n", total.Seconds())
	return nil
}

// moduleOf returns the module of each package in the binary; "" for the standard library.
func moduleOf() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Path}}{{end}}",
		"./cmd/slkstream").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	modules := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		modules[name] = module
	}
	return modules, nil
}
