package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
)

// load reads a command line, an environment and a file like a process.
func load(t *testing.T, command, file string, environ []string,
	args ...string,
) (*config.Config, error) {
	t.Helper()
	if file != "" {
		name := filepath.Join(t.TempDir(), "slk.yaml")
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", name)
	}
	flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
	config.Flags(flags, command)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return config.Load(command, flags, environ)
}

func TestFlagOverEnvironmentOverFileOverDefault(t *testing.T) {
	file := "in: [a, b]\nout: results\nepisode-size: 7\nepisode-age: 9s\nmax-memory: 3MiB\n"
	environ := []string{"SLKSTREAM_EPISODE_AGE=8s", "SLKSTREAM_MAX_MEMORY=2MiB", "SLKSTREAM_MODEL=", "OTHER=1"}
	c, err := load(t, "run", file, environ, "--max-memory", "1MiB", "--warm=false", "--dimension", "0")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, origin string
		got, want    any
	}{
		{"max-memory", "flag", c.Stage.MaxMemory, config.Bytes(1 << 20)},
		{"episode-age", "variable", c.Stage.EpisodeAge, 8 * time.Second},
		{"episode-size", "file", c.Stage.EpisodeSize, 7},
		{"in", "file", c.Topics.In, []string{"a", "b"}},
		{"episode-idle", "", c.Stage.EpisodeIdle, 2 * time.Second},
		{"warm", "flag", c.Memory.Warm, false},
		{"dimension", "flag", c.Stage.Dimension, 0},
		{"model", "", c.Stage.Model, ""},
	} {
		if !reflect.DeepEqual(row.got, row.want) || c.Origin(row.name).Layer != row.origin {
			t.Errorf("%s: %v by %q, want %v by %q", row.name, row.got, c.Origin(row.name), row.want, row.origin)
		}
	}
	if where := c.Origin("episode-size").Where; !strings.HasSuffix(where, "slk.yaml:3") {
		t.Errorf("episode-size comes from %s, want line 3", where)
	}
}

// All faults are reported at once, from whatever layer.
func TestEveryFaultAtOnce(t *testing.T) {
	file := "episode-sise: 5\nepisode-size: none\nunknown-rate: 2\nout: {a: 1}\nout: b\n"
	_, err := load(t, "run", file, []string{"SLKSTREAM_EPISODE_AGE=off", "SLKSTREAM_DELIVERY=twice"},
		"--episode-idle", "off", "--dimension=-1", "--tls-cert", "c.pem", "--listen", "0.0.0.0:80", "--stream-by",
		"colour")
	var faults config.Faults
	if !errors.As(err, &faults) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`slk.yaml:1: unknown key "episode-sise"; did you mean "episode-size"?`,
		`episode-size "none" is not a whole number (--episode-size, SLKSTREAM_EPISODE_SIZE, episode-size in the file; given by file `,
		`unknown-rate is 2: must be above 0, below 1 (--unknown-rate, SLKSTREAM_UNKNOWN_RATE, unknown-rate in the file`,
		`slk.yaml:4: "out" must be a value or a list of values`,
		"in is not set: run needs it (--in, SLKSTREAM_IN, in in the file)",
		"delivery is twice: must be one of at-least-once, exactly-once (--delivery, SLKSTREAM_DELIVERY, delivery in the file; given by variable)",
		"episode-age is off and episode-idle is off too",
		"dimension is -1: must be at least 0",
		"tls-cert is c.pem but tls is off",
		"tls-cert and tls-key go together",
		"listen is 0.0.0.0:80, which others can reach",
		"stream-by is colour: must be key, partition, header:NAME or field:NAME",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s", want)
		}
	}
	if strings.Contains(err.Error(), "episode-size is") {
		t.Error("an unreadable value is held against its bounds as well")
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestBadFile(t *testing.T) {
	for name, row := range map[string]struct{ file, want string }{
		"half written": {"episode-size: 5\nin: [a, b", "slk.yaml: yaml: line"},
		"tab":          {"in:\n\t- a\n", "slk.yaml: yaml: line"},
		"list":         {"- in\n- out\n", "slk.yaml:1: must be a mapping"},
		"two":          {"in: a\n---\nout: b\n", "more than one document"},
		"nested":       {"stage:\n  episode-size: 5\n", `slk.yaml:1: unknown key "stage"`},
		"twice":        {"in: a\nin: b\n", `"in" is given a second time, first in line 1`},
		"many for one": {"model: [b, c]\n", "a list of 2 values was given where one is meant"},
		"large":        {"#" + strings.Repeat(" ", 1<<20), "not a file of settings"},
		"binary":       {"\x00\x01\x02", "slk.yaml: yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, "run", row.file, nil, "--in", "x", "--out", "y")
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %s", err, row.want)
			}
		})
	}
	for name, path := range map[string]string{
		"missing":   filepath.Join(t.TempDir(), "none.yaml"),
		"directory": t.TempDir(),
	} {
		_, err := load(t, "run", "", nil, "--in", "x", "--out", "y", "--config", path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--config") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, file := range []string{"", "# nothing\n", "---\n", "episode-size:\n"} {
		if c, err := load(t, "run", file, nil, "--in", "x", "--out", "y"); err != nil ||
			c.Stage.EpisodeSize != 100 {
			t.Errorf("%q: %v", file, err)
		}
	}
}

// A variable with nearly a setting's name is refused. Those that Kubernetes sets for a Service named
// slkstream, and names that resemble no setting, are accepted.
func TestVariableThatIsNoSetting(t *testing.T) {
	for variable, meant := range map[string]string{
		"EPISODE_SIZ": "EPISODE_SIZE", "EPISODE_SISE": "EPISODE_SIZE", "BROKER": "BROKERS", "LOG_LEVL": "LOG_LEVEL",
		"SERVICE_HOST": "", "SERVICE_PORT_HTTP": "", "PORT": "", "PORT_8070_TCP_ADDR": "", "TEST_BROKERS": "", "HOME": "", "TEAM_NAME": "",
	} {
		_, err := load(t, "version", "", []string{"SLKSTREAM_" + variable + "=5"})
		if meant == "" && err != nil || meant != "" && (err == nil ||
			!strings.Contains(err.Error(), "variable SLKSTREAM_"+variable+" is no setting; did you mean SLKSTREAM_"+meant+"?")) {
			t.Errorf("%s: %v, want a hint at %q", variable, err, meant)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := load(t, "run", "", nil, "--in=a", "--out=b", "--brokers=h:1", "--sasl=plain", "--sasl-user=me",
		"--sasl-password-file="+password)
	if err != nil || c.Kafka.SASLPassword != "hunter2" {
		t.Fatal(err, string(c.Kafka.SASLPassword))
	}
	shown := fmt.Sprintf("%v %+v %#v %s", *c, c.Kafka, c.Kafka, c.Kafka.SASLPassword)
	for _, s := range c.Settings() {
		shown += s.Value()
	}
	if strings.Contains(shown, "hunter2") {
		t.Error("a print shows the password")
	}
	if _, err := load(t, "run", "", nil, "--in=a", "--out=b", "--brokers=h:1", "--sasl=plain",
		"--sasl-user=me", "--sasl-password-file=/nowhere/at/all"); err == nil {
		t.Error("a password file that is not there is no fault")
	}
}

// Every default is within its own bounds, and can be parsed from its text.
func TestDefinitions(t *testing.T) {
	for _, command := range config.Commands() {
		c := config.Default(command)
		seen := map[string]bool{}
		for _, s := range c.Settings() {
			if seen[s.Name] {
				t.Errorf("%s has two settings named %s", command, s.Name)
			}
			seen[s.Name] = true
			if s.Help == "" || strings.HasSuffix(s.Help, ".") || s.Kind() == "" {
				t.Errorf("%s: help %q, kind %q", s.Name, s.Help, s.Kind())
			}
			v := s.Value()
			if v == "" {
				continue
			}
			flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
			config.Flags(flags, command)
			if err := flags.Set(s.Name, v); err != nil {
				t.Error(err)
			}
			again, err := config.Load(command, flags, nil)
			var faults config.Faults
			errors.As(err, &faults)
			for _, f := range faults {
				if f.Setting == s.Name && !f.Missing {
					t.Errorf("%s: default %s is refused: %v", s.Name, v, f)
				}
			}
			for _, other := range again.Settings() {
				if other.Name == s.Name && other.Value() != v {
					t.Errorf("%s: %s reads back as %s", s.Name, v, other.Value())
				}
			}
		}
	}
}

// The settings that help shows first are settings of the command.
func TestFirstSettingsAreTaken(t *testing.T) {
	for _, command := range config.Commands() {
		var taken []string
		for _, s := range config.Default(command).Settings() {
			taken = append(taken, s.Name)
		}
		for _, name := range config.First(command) {
			if !slices.Contains(taken, name) {
				t.Errorf("the help of %s begins with --%s, which it does not take", command, name)
			}
		}
		if len(config.First(command)) == 0 && len(taken) > 12 {
			t.Errorf("%s takes %d settings, and none of them comes first in its help", command, len(taken))
		}
	}
}

func TestNearest(t *testing.T) {
	for mistaken, want := range map[string]string{
		"K": "k", "inptu": "input", "Support": "support",
		"zzzzzzz": "",
	} {
		if got := config.NearestFlag("label", mistaken); got != want {
			t.Errorf("--%s suggests %q, not %q", mistaken, got, want)
		}
	}
}

func TestEmbeddedListen(t *testing.T) {
	for _, address := range []string{
		"0.0.0.0:9092", ":9092", "[::]:9092", "nowhere", "localhost:many", "localhost:70000",
	} {
		_, err := load(t, "broker", "", nil, "--embedded-listen="+address)
		if err == nil || !strings.Contains(err.Error(), "embedded-listen is "+address+": must be HOST:PORT") {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := load(t, "broker", "", nil, "--embedded-listen=localhost:0"); err != nil {
		t.Error(err)
	}
}

func TestNegativeDuration(t *testing.T) {
	_, err := load(t, "run", "", nil, "--in=a", "--out=b", "--episode-idle=-1s")
	if err == nil || !strings.Contains(err.Error(), "episode-idle is -1s: must be off or above 0") {
		t.Error(err)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]config.Bytes{
		"64MiB": 64 << 20, "1gib": 1 << 30, "1.5 KB": 1500,
		"70000": 70000, "65537B": 65537,
	} {
		c, err := load(t, "run", "", nil, "--in=a", "--out=b", "--max-memory="+text)
		if want < 64<<10 {
			if err == nil || !strings.Contains(err.Error(), "max-memory is 1500: must be at least 64KiB") {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil || c.Stage.MaxMemory != want {
			t.Errorf("%s is %d, want %d: %v", text, c.Stage.MaxMemory, want, err)
		}
	}
	for _, text := range []string{"many", "1e30GiB", "NaN", "-1", ""} {
		if _, err := load(t, "run", "", nil, "--in=a", "--out=b", "--max-memory="+text); err == nil {
			t.Errorf("%q is no size, but read as one", text)
		}
	}
}

// A name that Kafka's brokers refuse is refused at once: the embedded broker would take it.
func TestNamesOfTopics(t *testing.T) {
	for _, row := range []struct{ command, flag, want string }{
		{"run", "--in=__transaction_state", `in has __transaction_state: the brokers keep their own records there`},
		{"run", "--out=__consumer_offsets", `out is __consumer_offsets: the brokers keep their own records there`},
		{"run", "--in=a b", `in has "a b": a topic's name has 1 to 249 of the letters`},
		{"run", "--in=.", `in has ".": `},
		{"run", "--out=Straße", `out is "Straße": `},
		{"feed", "--out=cam/7", `out is "cam/7": `},
		{"teach", "--labels=my labels", `labels is "my labels": `},
		{"check", "--review=re:view", `review is "re:view": `},
		{"run", "--group=night shift", `group is "night shift", which names the state topic GROUP-state: `},
		{"run", "--group=", "group is empty: "},
		{"state show", "--group=", "group is empty: "},
		{"backfill", "--job=26/11", `job is "26/11", which names a state topic: `},
		{"run", "--group=night.backfill.night-1", "group is night.backfill.night-1: groups with .backfill. are those of jobs"},
		{"correct", "--group=night.correct.monday", "group is night.correct.monday: groups with .correct. are those of jobs"},
		{"run", "--out=" + strings.Repeat("x", 250), "1 to 249"},
		{"run", "--out=a.B_c-9", ""},
	} {
		_, err := load(t, row.command, "", nil, row.flag)
		text := fmt.Sprint(err)
		if !strings.Contains(text, row.want) || row.want == "" && strings.Contains(text, "a topic's name") {
			t.Errorf("%s %s: %v", row.command, row.flag, err)
		}
	}
	if _, err := load(t, "run", "", nil, "--in=a", "--out=b", "--group=night shift", "--state=s"); err != nil {
		t.Error(err)
	}
}
