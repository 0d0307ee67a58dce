package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/topic"
)

// manifest is a resource of Strimzi's.
type manifest struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name   string
		Labels map[string]string
	}
	Spec any
}

type strimziTopic struct {
	TopicName  string `yaml:"topicName,omitempty"` // where the resource cannot be called so
	Partitions int
	Replicas   int               `yaml:",omitempty"`
	Config     map[string]string `yaml:",omitempty"`
}

type strimziUser struct {
	Authentication map[string]string `yaml:",omitempty"`
	Authorization  struct {
		Type string
		ACLs []strimziRight `yaml:"acls"`
	}
}

type strimziRight struct {
	Resource struct {
		Type        string
		Name        string
		PatternType string `yaml:"patternType"`
	}
	Operations []string `yaml:",flow"`
	Host       string
}

// strimzi writes the topics and the user of a stage as resources for Strimzi's operators in a Kafka cluster.
func strimzi(out io.Writer, c *config.Config) error {
	k, t, cluster := &c.Check, &c.Topics, c.Check.Strimzi
	to := yaml.NewEncoder(out)
	to.SetIndent(2)
	taken := map[string]bool{}
	write := func(kind, name string, spec any) error {
		if taken[kind+name] {
			return fmt.Errorf(
				"strimzi: two topics would both be the resource %s: choose names that differ in more than letters' size or _",
				name,
			)
		}
		taken[kind+name] = true
		m := manifest{APIVersion: "kafka.strimzi.io/v1beta2", Kind: kind, Spec: spec}
		m.Metadata.Name, m.Metadata.Labels = name, map[string]string{"strimzi.io/cluster": cluster}
		return to.Encode(m)
	}
	var user strimziUser
	switch {
	case c.Kafka.SASL == "scram-sha-512":
		user.Authentication = map[string]string{"type": "scram-sha-512"}
	case c.Kafka.TLSCert != "":
		user.Authentication = map[string]string{"type": "tls"}
	}
	user.Authorization.Type = "simple"
	grant := func(kind, name, pattern string, operations ...string) {
		right := strimziRight{Operations: operations, Host: "*"}
		right.Resource.Type, right.Resource.Name, right.Resource.PatternType = kind, name, pattern
		user.Authorization.ACLs = append(user.Authorization.ACLs, right)
	}
	var all []config.Own
	for _, in := range t.In {
		all = append(all, config.Own{Setting: "in", Name: in})
	}
	for _, own := range append(all, t.Own()...) {
		spec := strimziTopic{Partitions: k.Partitions, Replicas: k.Replicas}
		if isSingle(own.Setting) {
			spec.Partitions = 1
		}
		if isCompacted(own.Setting) {
			spec.Config = topic.StateSettings()
		}
		name := resourceName(own.Name)
		if name != own.Name {
			spec.TopicName = own.Name
		}
		if err := write("KafkaTopic", name, spec); err != nil {
			return err
		}
		grant("topic", own.Name, "literal", rightsTo(own.Setting, c)...)
	}
	groups := []string{t.Group}
	if t.Identities != "" {
		groups = append(groups, t.LinkGroup())
	}
	for _, group := range groups {
		grant("group", group, "literal", "Read", "Describe")
		if c.Delivery.Mode == "exactly-once" {
			grant("transactionalId", "slkstream/"+group+"/", "prefix", "Write", "Describe")
		}
	}
	if t.Labels != "" { // the page writes several labels as one transaction
		grant("transactionalId", "slkstream/labels/", "prefix", "Write", "Describe")
	}
	name := cmp.Or(c.Kafka.SASLUser, resourceName(t.Group))
	if name != resourceName(name) {
		return usagef("sasl-user is %s, which no KafkaUser can be called: it takes small letters, digits, dots and -", name)
	}
	if err := write("KafkaUser", name, user); err != nil {
		return err
	}
	return to.Close()
}

// isCompacted says whether the topic of a setting must be compacted.
func isCompacted(setting string) bool { return isSingle(setting) || setting == "state" }

// isSingle says whether the topic of a setting needs no more than one partition.
func isSingle(setting string) bool { return setting == "labels" || setting == "identities" }

// rightsTo lists the operations that a stage needs on the topic of a setting, those of its page too.
func rightsTo(setting string, c *config.Config) []string {
	corrects := c.Topics.Corrections != "" && (setting == "out" || setting == "corrections")
	switch {
	case setting == "in":
		return []string{"Read", "Describe"}
	case isSingle(setting), corrects:
		return []string{"Read", "Write", "Describe"}
	case setting == "state":
		return []string{"Read", "Write", "Describe", "DescribeConfigs", "Create", "Alter"}
	}
	return []string{"Write", "Describe"}
}

var notInName = regexp.MustCompile(`[^a-z0-9.-]+`)

// resourceName makes a name of Kafka's one of Kubernetes'.
func resourceName(name string) string {
	return cmp.Or(strings.Trim(notInName.ReplaceAllString(strings.ToLower(name), "-"), ".-"), fmt.Sprintf("topic-%x", name))
}
