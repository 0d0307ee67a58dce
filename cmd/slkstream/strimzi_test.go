package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The resources of check --strimzi have the fields and values that Strimzi's definitions allow, one for each topic of the
// stage, and rights to each; names that Kubernetes does not take are replaced.
func TestStrimzi(t *testing.T) {
	code, out, messages := runLine(
		t,
		strings.Fields("check --in Embeddings_1 --in frames --out results --labels labels --review review "+
			"--corrections fixed --delivery exactly-once --partitions 8 --replicas 3 --group yard --strimzi harbour")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, messages)
	}
	topics, rights, err := readStrimzi(out)
	if err != nil {
		t.Fatal(err)
	}
	for right, wrong := range map[string]string{
		"kafka.strimzi.io/v1beta2": "kafka.strimzi.io/v9", "strimzi.io/cluster: harbour": "strimzi.io/cluster: yard",
		"kind: KafkaTopic": "kind: KafkaTopics", "partitions: 8": "partitions: eight", "replicas:": "replica:",
		"Describe]": "Describes]", "type: simple": "type: simpel", "acls:": "acl:", "name: frames": "name: Frames_1",
	} {
		if !strings.Contains(out, right) {
			t.Errorf("no %q in\n%s", right, out)
		}
		if _, _, err := readStrimzi(strings.ReplaceAll(out, right, wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	for name, partitions := range map[string]int32{
		"Embeddings_1": 8, "frames": 8, "results": 8, "labels": 1, "review": 8, "fixed": 8, "yard-state": 8, "results-dead": 8,
	} {
		compacted := name == "labels" || name == "yard-state"
		if of := topics[name]; of.Partitions != partitions || of.Replicas != 3 ||
			(of.Config["cleanup.policy"] == "compact") != compacted {
			t.Errorf("topic %s: %+v", name, of)
		}
		if len(rights["topic "+name+" literal"]) < 2 {
			t.Errorf("no rights to topic %s: %v", name, rights)
		}
	}
	if len(topics) != 8 || !slices.Contains(rights["topic fixed literal"], "Read") || rights["group yard literal"] == nil ||
		rights["transactionalId slkstream/yard/ prefix"] == nil || rights["transactionalId slkstream/labels/ prefix"] == nil ||
		!slices.Contains(rights["topic labels literal"], "Write") {
		t.Errorf("topics %v, rights %v", topics, rights)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"check --in a_b --in a-b --out o --strimzi k": "two topics",
		"check --in a --out o --brokers k:9093 --sasl scram-sha-512 --sasl-user Jo_1 --tls --strimzi k --sasl-password-file " + password: "no KafkaUser",
	} {
		if code, _, messages := runLine(t, strings.Fields(line)...); code == exitDone || !strings.Contains(messages, want) {
			t.Errorf("%s: exit %d: %s", line, code, messages)
		}
	}
}

// What Strimzi's definitions have.
type metaRead struct {
	Name   string
	Labels map[string]string
}
type resourceRead struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   metaRead
	Spec       yaml.Node
}
type topicRead struct {
	TopicName  string `yaml:"topicName"`
	Partitions int32
	Replicas   int32
	Config     map[string]string
}
type userRead struct {
	Authentication struct{ Type string }
	Authorization  struct {
		Type string
		ACLs []struct {
			Resource   struct{ Type, Name, PatternType string }
			Operations []string
			Host       string
		} `yaml:"acls"`
	}
}

// readStrimzi reads resources as Strimzi's definitions have them; another field or value is an error.
func readStrimzi(out string) (topics map[string]topicRead, rights map[string][]string, err error) {
	isName := regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	operations := strings.Fields(
		"Read Write Delete Alter Describe All IdempotentWrite ClusterAction Create AlterConfigs DescribeConfigs",
	)
	topics, rights = map[string]topicRead{}, map[string][]string{}
	decoder := yaml.NewDecoder(strings.NewReader(out))
	decoder.KnownFields(true)
	for {
		var one resourceRead
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return topics, rights, nil
		} else if err != nil {
			return nil, nil, err
		}
		if one.APIVersion != "kafka.strimzi.io/v1beta2" || one.Metadata.Labels["strimzi.io/cluster"] != "harbour" ||
			!isName.MatchString(one.Metadata.Name) {
			return nil, nil, fmt.Errorf("%+v", one)
		}
		text, err := yaml.Marshal(&one.Spec)
		if err != nil {
			return nil, nil, err
		}
		spec := yaml.NewDecoder(strings.NewReader(strings.ReplaceAll(string(text), "patternType", "patterntype")))
		spec.KnownFields(true)
		switch one.Kind {
		case "KafkaTopic":
			var of topicRead
			if err := spec.Decode(&of); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", one.Metadata.Name, err)
			}
			name := one.Metadata.Name
			if of.TopicName != "" {
				name = of.TopicName
			}
			topics[name] = of
		case "KafkaUser":
			var of userRead
			if err := spec.Decode(&of); err != nil {
				return nil, nil, err
			}
			if one.Metadata.Name != "yard" || of.Authorization.Type != "simple" {
				return nil, nil, fmt.Errorf("%+v", of)
			}
			for _, acl := range of.Authorization.ACLs {
				rights[acl.Resource.Type+" "+acl.Resource.Name+" "+acl.Resource.PatternType] = acl.Operations
				for _, o := range acl.Operations {
					if !slices.Contains(operations, o) || acl.Host != "*" {
						return nil, nil, fmt.Errorf("%+v", acl)
					}
				}
			}
		default:
			return nil, nil, fmt.Errorf("a %s", one.Kind)
		}
	}
}
