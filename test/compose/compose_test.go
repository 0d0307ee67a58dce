// Package compose holds docker-compose.yml to what it promises, without a container engine: it is a module of
// its own, so that what reads compose files does not weigh on the product.
package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/spf13/pflag"

	"github.com/slkstream/slkstream/config"
)

const root = "../.."

// load reads docker-compose.yml with every profile.
func load(t *testing.T) *types.Project {
	t.Helper()
	project, err := read(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// read reads a compose file by the schema of Compose.
func read(path string) (*types.Project, error) {
	options, err := cli.NewProjectOptions([]string{path}, cli.WithName("slkstream"), cli.WithProfiles([]string{"*"}))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

// ours are the services that run the product.
func ours(project *types.Project) []types.ServiceConfig {
	var services []types.ServiceConfig
	for _, s := range project.Services {
		if s.Build != nil {
			services = append(services, s)
		}
	}
	return services
}

// environ is a service's environment as a process gets it.
func environ(s types.ServiceConfig) []string {
	var list []string
	for name, value := range s.Environment {
		if value != nil {
			list = append(list, name+"="+*value)
		}
	}
	slices.Sort(list)
	return list
}

// Every command and every variable means something to the product's own loader.
func TestServicesResolve(t *testing.T) {
	project := load(t)
	seen := map[string]bool{}
	for _, s := range ours(project) {
		seen[s.Name] = true
		command, c, err := loaded(s)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if !slices.Equal(c.Kafka.Brokers, []string{"kafka:9092"}) {
			t.Errorf("%s: brokers %v", s.Name, c.Kafka.Brokers)
		}
		for _, v := range environ(s) {
			name, _, _ := strings.Cut(v, "=")
			if !slices.ContainsFunc(
				config.Names(),
				func(setting string) bool { return (config.Setting{Name: setting}).Variable() == name },
			) {
				t.Errorf("%s: %s is no setting", s.Name, name)
			}
		}
		switch command {
		case "run":
			if s.ContainerName != "" || len(s.Ports) != 1 || !strings.Contains(s.Ports[0].Published, "-") ||
				c.Listen.Address != "0.0.0.0:8070" {
				t.Errorf("%s cannot be scaled: name %q, ports %v, listens on %s", s.Name, s.ContainerName, s.Ports,
					c.Listen.Address)
			}
			if s.Ports[0].HostIP != "127.0.0.1" {
				t.Errorf("%s is open to everyone: %s", s.Name, s.Ports[0].HostIP)
			}
		case "feed":
			if c.Topics.Out != "embeddings" || c.Feed.Loop != (s.Name == "feed") {
				t.Errorf("%s sends to %s", s.Name, c.Topics.Out)
			}
		case "check":
			if !c.Check.Create {
				t.Error("the topics are not made")
			}
		}
	}
	for _, name := range []string{"topics", "feed", "feed-mine", "stage"} {
		if !seen[name] {
			t.Errorf("no service %s", name)
		}
	}
}

// loaded reads a service's command and variables as the product does.
func loaded(s types.ServiceConfig) (command string, c *config.Config, err error) {
	line := slices.Concat(s.Entrypoint, s.Command)
	if len(s.Entrypoint) > 0 { // the program itself
		line = line[1:]
	}
	command = line[0]
	flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
	config.Flags(flags, command)
	if err := flags.Parse(line[1:]); err != nil {
		return command, nil, err
	}
	c, err = config.Load(command, flags, environ(s))
	return command, c, err
}

// A wrong value is refused: by the schema of Compose, or by the loader of the product.
func TestComposeRefuses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for right, wrong := range map[string]string{
		"restart: on-failure": "restarts: on-failure", "127.0.0.1:29092:29092": "127.0.0.1:kafka:29092",
		"condition: service_healthy": "condition: service_well", "--loop": "--loops",
	} {
		if !strings.Contains(string(text), right) {
			t.Fatalf("docker-compose.yml has no %s", right)
		}
		path := filepath.Join(t.TempDir(), "docker-compose.yml")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), right, wrong)), 0o600); err != nil {
			t.Fatal(err)
		}
		project, err := read(path)
		if err == nil {
			for _, s := range ours(project) {
				if _, _, refused := loaded(s); refused != nil {
					err = refused
				}
			}
		}
		if err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// docker compose run feed-mine FILE replaces the command alone: the file comes last, is one of this folder, and runs only
// when asked for.
func TestFeedMine(t *testing.T) {
	s := load(t).Services["feed-mine"]
	if len(s.Command) != 1 || s.Entrypoint[len(s.Entrypoint)-1] != "--input" || !slices.Equal(s.Profiles, []string{"mine"}) ||
		len(s.Volumes) != 1 || s.Volumes[0].Target != s.WorkingDir || !s.Volumes[0].ReadOnly {
		t.Errorf("%+v", s)
	}
}

// Kafka has a listener for the other services and one for this machine; each is advertised, has a protocol, and only the
// second is published, on the loopback alone.
func TestListeners(t *testing.T) {
	kafka := load(t).Services["kafka"]
	listed := func(name string) map[string]string {
		list := map[string]string{}
		for one := range strings.SplitSeq(*kafka.Environment[name], ",") {
			key, value, _ := strings.Cut(one, ":")
			list[key] = strings.TrimPrefix(value, "//")
		}
		return list
	}
	listen, advertised, protocols := listed(
		"KAFKA_LISTENERS",
	), listed(
		"KAFKA_ADVERTISED_LISTENERS",
	), listed(
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP",
	)
	for name, address := range map[string]string{"PLAINTEXT": "kafka:9092", "HOST": "localhost:29092"} {
		_, port, _ := strings.Cut(address, ":")
		if advertised[name] != address || listen[name] != ":"+port || protocols[name] != "PLAINTEXT" {
			t.Errorf("%s: listens on %q, is advertised as %q with %q", name, listen[name], advertised[name], protocols[name])
		}
	}
	if len(kafka.Ports) != 1 || kafka.Ports[0].Target != 29092 || kafka.Ports[0].Published != "29092" ||
		kafka.Ports[0].HostIP != "127.0.0.1" ||
		*kafka.Environment["KAFKA_INTER_BROKER_LISTENER_NAME"] != "PLAINTEXT" {
		t.Errorf("ports %+v", kafka.Ports)
	}
}

// The dashboard asks the data source, the jobs and the topics that are chosen above it: each question of each panel.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy/grafana/dashboards/slkstream.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faultsOfDashboard(text) {
		t.Error(fault)
	}
	for right, wrong := range map[string]string{
		`"${source}"`: `"prometheus-1"`, `job=~\"$job\"`: `job=~\"slkstream\"`, `"targets"`: `"target"`, `"templating"`: `"template"`,
		"slkstream_": "slk_", `"panels": [`: `"panels": {`,
	} {
		if !bytes.Contains(text, []byte(right)) {
			t.Errorf("the dashboard has no %s", right)
		}
		if faultsOfDashboard(bytes.ReplaceAll(text, []byte(right), []byte(wrong))) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// faultsOfDashboard lists what is wrong with a dashboard.
func faultsOfDashboard(text []byte) (faults []string) {
	fault := func(format string, about ...any) { faults = append(faults, fmt.Sprintf(format, about...)) }
	type source struct{ Type, UID string }
	var board struct {
		Templating struct {
			List []struct {
				Name, Type string
				Datasource source
				Query      json.RawMessage
				AllValue   string
			}
		}
		Panels []struct {
			Title      string
			Datasource source
			Targets    []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		return []string{err.Error()}
	}
	chosen := source{"prometheus", "${source}"}
	kinds := map[string]string{}
	for _, v := range board.Templating.List {
		kinds[v.Name] = v.Type
		if v.Type == "query" &&
			(v.Datasource != chosen || !strings.Contains(string(v.Query), "label_values(slkstream_") || v.AllValue != ".*") {
			fault("variable %+v", v)
		}
	}
	if len(kinds) != 3 || kinds["source"] != "datasource" || kinds["job"] != "query" || kinds["topic"] != "query" {
		fault("variables %v", kinds)
	}
	selector := regexp.MustCompile(`slkstream_[a-z_]+(\{[^}]*\})?`)
	for _, p := range board.Panels {
		if p.Datasource != chosen || len(p.Targets) == 0 {
			fault("%s: asks %+v %d questions", p.Title, p.Datasource, len(p.Targets))
		}
		for _, q := range p.Targets {
			all := selector.FindAllStringSubmatch(q.Expr, -1)
			for _, s := range all {
				if !strings.Contains(s[1], `job=~"$job"`) ||
					strings.Contains(q.Expr, "by (topic") != strings.Contains(s[1], `topic=~"$topic"`) {
					fault("%s: %s", p.Title, q.Expr)
				}
			}
			if len(all) == 0 {
				fault("%s: %s asks for no metric", p.Title, q.Expr)
			}
		}
	}
	if len(board.Panels) == 0 {
		fault("no panels")
	}
	return faults
}

// Files that services mount are in the tree and can be read.
func TestMounts(t *testing.T) {
	for _, s := range load(t).Services {
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}

var metricName = regexp.MustCompile(`slkstream_[a-z_]+`)

// metrics are the names that the dashboard and the alerts ask for.
func metrics(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, file := range []string{"deploy/grafana/dashboards/slkstream.json", "deploy/alerts.yml"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(file, ".json") && !json.Valid(text) {
			t.Errorf("%s is not JSON", file)
		}
		for _, name := range metricName.FindAllString(string(text), -1) {
			names = append(names, strings.TrimSuffix(name, "_bucket"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
