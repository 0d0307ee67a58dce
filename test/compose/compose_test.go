// Package compose holds docker-compose.yml to what it promises, without a container engine: it is a module of
// its own, so that what reads compose files does not weigh on the product.
package compose

import (
	"context"
	"encoding/json"
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
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithName("slkstream"), cli.WithProfiles([]string{"*"}))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return project
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
		command := s.Command[0]
		flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
		config.Flags(flags, command)
		if err := flags.Parse(s.Command[1:]); err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		c, err := config.Load(command, flags, environ(s))
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
			if c.Topics.Out != "embeddings" || !c.Feed.Loop {
				t.Errorf("feed sends to %s", c.Topics.Out)
			}
		case "check":
			if !c.Check.Create {
				t.Error("the topics are not made")
			}
		}
	}
	for _, name := range []string{"topics", "feed", "stage"} {
		if !seen[name] {
			t.Errorf("no service %s", name)
		}
	}
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
