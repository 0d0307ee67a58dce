package config_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
)

var update = flag.Bool("update", false, "write docs/settings.md anew")

func TestReference(t *testing.T) {
	page := filepath.Join("..", "docs", "settings.md")
	if *update {
		if err := os.WriteFile(page, []byte(config.Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(page)
	if err != nil || string(written) != config.Reference() {
		t.Errorf("docs/settings.md is not what the definitions say (%v): go test ./config -run TestReference -update", err)
	}
}

// --config reads the output of config print back as the same configuration.
func TestPrintReadsBack(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "run", "", []string{"SLKSTREAM_MODEL=a: [b] # c", "SLKSTREAM_GROUP=007"}, "--in=a.b,c",
		"--in=d", "--out=yes",
		"--brokers=h:1", "--warm=false", "--episode-age=off", "--max-memory=1.5MiB", "--listen=",
		"--sasl=plain", "--sasl-user={x}", "--sasl-password-file="+password, "--fields=vector=a[].b,id=c")
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	if err := c.Write(&printed, func(string) string { return "" }); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(printed.Bytes(), []byte("hunter2")) {
		t.Errorf("printed:\n%s", printed.String())
	}
	file := filepath.Join(t.TempDir(), "printed.yaml")
	if err := os.WriteFile(file, printed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.Flags(flags, "run")
	if err := flags.Parse([]string{"--config", file, "--listen="}); err != nil {
		t.Fatal(err)
	}
	again, err := config.Load("run", flags, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range c.Settings() {
		if other := again.Settings()[i]; s.Name != "config" && !reflect.DeepEqual(s.Values(), other.Values()) {
			t.Errorf("%s: %q reads back as %q", s.Name, s.Values(), other.Values())
		}
	}
}
