package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// runLine runs one command line and returns its exit code, its results and its messages.
func runLine(t *testing.T, args ...string) (code int, out, messages string) {
	t.Helper()
	var o, m bytes.Buffer
	code = execute(context.Background(), args, &o, &m)
	return code, o.String(), m.String()
}

func TestExitCodes(t *testing.T) {
	for _, row := range []struct {
		line string
		code int
		says string
	}{
		{"version", exitDone, "slkstream "},
		{"--help", exitDone, "Usage:"},
		{"", exitDone, "Usage:"},
		{"verson", exitUsage, `unknown command "verson" of "slkstream"; did you mean "version"?`},
		{"lable --input x.npy", exitUsage, `unknown command "lable" of "slkstream"; did you mean "label"?`},
		{"evla fewshot --data x", exitUsage, `unknown command "evla" of "slkstream"; did you mean "eval"?`},
		{"label --input testdata/help.txt --k 2 --output /nowhere/at/all/y.npy", exitFailed, "output: /nowhere/at/all/y.npy: no such file or directory"},
		{"label --input testdata/help.txt --k 2 --output x.json", exitFailed, "x.json: its name must end"},
		{"label --input x.npy --k 2 --lambda 3", exitUsage, "--solver FILE"},
		{"label --input x.npy --kay 2", exitUsage, "did you mean --k?"},
		{"map --input x.npy", exitUsage, "unknown flag: --input; it is slkstream map FILE|TOPIC [flags]"},
		{"run --in a --out b --lambda 3", exitUsage, "--solver FILE"},
		{"version --json", exitDone, `"version":`},
		{"version --log-fromat json", exitUsage, "did you mean --log-format?"},
		{"version --log-format xml", exitUsage, "log is xml: must be each one of debug, info"},
		{
			"label --kernel neon --input x.npy --k 2 --output y.npy", exitUsage,
			"kernel \"neon\": this machine has auto",
		},
		{"version extra", exitUsage, "slkstream version takes no arguments"},
		{"version --config /nowhere.yaml", exitUsage, "/nowhere.yaml"},
	} {
		code, out, messages := runLine(t, strings.Fields(row.line)...)
		if code != row.code || !strings.Contains(out+messages, row.says) {
			t.Errorf("slkstream %s: exit %d, says %q%q; want exit %d, %q", row.line, code, out, messages, row.code,
				row.says)
		}
	}
}
