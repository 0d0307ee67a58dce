package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/admin"
	"github.com/slkstream/slkstream/pipeline/link"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

var checkCommand = command{
	name:  "check",
	short: "test the config, the brokers, the topics and the rights; --create makes missing topics",
	long: "check takes the settings of run and tests what they name: brokers, topics, rights, labels, state. It tells every fault at once,\n" +
		"each with the setting to change, and exits with 1 if there is one. It writes nothing; with --create it makes the topics that are missing.",
	example: "  slkstream check --config slkstream.yaml --create\n" +
		"  slkstream check --config slkstream.yaml --strimzi my-cluster | kubectl apply -f -",
	run: func(ctx context.Context, c *call) error {
		if c.Config.Check.Strimzi != "" {
			return strimzi(c.Out, c.Config)
		}
		return onKafka(check)(ctx, c)
	},
}

// patience bounds how long check waits for an answer from the brokers.
const patience = 15 * time.Second

func check(ctx context.Context, c *call, client *topic.Client) error {
	k := &checker{config: c.Config, client: client, out: c.Out}
	var err error
	if _, err = readTransit(c.Config.Memory.Transit); err != nil {
		k.fault("transit", "%v", err)
	}
	if k.support, err = readSupport(c.Config); err != nil {
		k.fault("support", "%v", err)
	}
	if k.brokers(ctx) {
		k.topics(ctx)
		k.group(ctx)
		k.labels(ctx)
		k.state(ctx)
		k.streams(ctx)
	}
	if err := errors.Join(k.failed, ctx.Err()); err != nil {
		return err
	}
	if k.faults > 0 {
		return fmt.Errorf("faults found: %d", k.faults)
	}
	return nil
}

// checker runs one test after another and continues after a fault.
type checker struct {
	config *config.Config
	client *topic.Client
	out    io.Writer
	faults int
	failed error // of writing to out

	inputs     []string // the existing ones
	partitions int      // of the input with the most
	exists     map[string]bool
	support    []taught.Example
	taught     map[string]int // numbers of the vector of each example in the labels topic, by id
}

func (k *checker) say(kind, format string, args ...any) {
	_, err := fmt.Fprintf(k.out, "%-6s%s\n", kind, fmt.Sprintf(format, withoutEscapes(args)...))
	k.failed = cmp.Or(k.failed, err)
}

func (k *checker) good(format string, args ...any) { k.say("ok", format, args...) }
func (k *checker) warn(format string, args ...any) { k.say("warn", format, args...) }

// fault reports a fault and the settings to change.
func (k *checker) fault(settings, format string, args ...any) {
	k.faults++
	var names []string
	for name := range strings.SplitSeq(settings, " ") {
		names = append(names, "--"+name)
	}
	k.say("FAULT", format+" (%s)", append(args, strings.Join(names, ", "))...)
}

// within bounds one request by patience. It retries while the brokers report that they are not ready, as for
// a group that is new to them or a topic just created.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ask(ctx)
		var refusal kafka.Error
		if !errors.As(err, &refusal) || errors.Is(err, kafka.UnknownTopicOrPartition) || !topic.Temporary(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// brokers tests that the brokers answer and support the requests that the stage needs.
func (k *checker) brokers(ctx context.Context) bool {
	var versions *kafka.ApiVersionsResponse
	err := within(ctx, func(ctx context.Context) (err error) {
		kc := k.client.Kafka()
		versions, err = kc.ApiVersions(ctx, &kafka.ApiVersionsRequest{Addr: kc.Addr})
		if err == nil {
			err = versions.Error
		}
		return err
	})
	if err != nil {
		k.fault("brokers tls tls-ca tls-cert sasl sasl-user sasl-password-file", "brokers %s: %v",
			strings.Join(k.client.Brokers(), ","), err)
		return false
	}
	k.good("brokers %s answer", strings.Join(k.client.Brokers(), ","))
	needs := map[int]string{0: "Produce", 1: "Fetch", 8: "OffsetCommit", 11: "JoinGroup", 19: "CreateTopics"}
	if k.config.Delivery.Mode == "exactly-once" {
		needs[22], needs[25], needs[26], needs[28] = "InitProducerId", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"
	}
	for _, offered := range versions.ApiKeys {
		delete(needs, offered.ApiKey)
	}
	for _, name := range slices.Sorted(maps.Values(needs)) {
		k.fault("delivery brokers", "the brokers do not offer %s, which delivery %s needs", name,
			k.config.Delivery.Mode)
	}
	return true
}

func (k *checker) topics(ctx context.Context) {
	k.exists = map[string]bool{}
	t := &k.config.Topics
	for _, in := range t.In {
		if n := k.topic(ctx, config.Own{Setting: "in", Name: in}, k.config.Check.Partitions); n > 0 {
			k.inputs, k.partitions = append(k.inputs, in), max(k.partitions, n)
		}
	}
	for _, own := range t.Own() {
		partitions := max(k.partitions, 1)
		if isSingle(own.Setting) {
			partitions = 1
		}
		k.topic(ctx, own, partitions)
	}
}

// topic tests one topic, creating it if asked to, and returns its number of partitions.
func (k *checker) topic(ctx context.Context, own config.Own, partitions int) int {
	setting, name := own.Setting, own.Name
	compacted := isCompacted(setting)
	var d topic.Description
	ask := func() error {
		return within(ctx, func(ctx context.Context) (err error) {
			d, err = k.client.Describe(ctx, name)
			return err
		})
	}
	err := ask()
	made := ""
	if errors.Is(err, kafka.UnknownTopicOrPartition) && k.config.Check.Create {
		wish := topic.Description{Name: name, Partitions: partitions, Replicas: k.config.Check.Replicas}
		if compacted {
			wish.Settings = topic.StateSettings()
		}
		if err = within(ctx, func(ctx context.Context) error { return k.client.Create(ctx, wish) }); err != nil {
			k.fault(setting+" replicas", "topic %s cannot be made: %v", name, err)
			return 0
		}
		made, err = ", made now", ask()
	}
	switch {
	case errors.Is(err, kafka.UnknownTopicOrPartition):
		k.fault(setting+" create", "topic %s does not exist", name)
		return 0
	case errors.Is(err, kafka.TopicAuthorizationFailed):
		k.fault(setting+" sasl-user", "topic %s: no right to describe it, or it does not exist", name)
		return 0
	case err != nil:
		k.fault(setting, "topic %s: %v", name, err)
		return 0
	}
	k.exists[name] = true
	if d.Settings == nil {
		k.warn("topic %s: no right to see its settings (DescribeConfigs): whether it is compacted is not known",
			name)
	}
	policy, told := d.Settings["cleanup.policy"]
	if told && compacted && !strings.Contains(policy, "compact") && k.config.Check.Compact {
		err := within(ctx, func(ctx context.Context) error { return k.client.Compact(ctx, name) })
		if err != nil {
			k.fault(setting, "%v", err)
		} else {
			policy, made = "compact", ", compacted now"
		}
	}
	if told && compacted != strings.Contains(policy, "compact") {
		k.fault(setting, "topic %s has cleanup.policy %s: %s", name, policy, map[bool]string{
			true:  "it must be compact, or what it holds is deleted; --compact sets it",
			false: "records of one key would replace each other, it must not be compact",
		}[compacted])
	}
	if setting == "state" && d.Partitions < k.partitions {
		k.fault(setting, "topic %s has %d partitions, the input %d: it needs as many", name, d.Partitions,
			k.partitions)
	}
	k.rights(ctx, setting, name)
	k.good("topic %s: %d partitions, %d replicas%s", name, d.Partitions, d.Replicas, made)
	return d.Partitions
}

// rights tests that the stage is authorised for its operations on a topic.
func (k *checker) rights(ctx context.Context, setting, name string) {
	settings := setting + " sasl-user"
	var rights topic.Rights
	err := within(ctx, func(ctx context.Context) (err error) {
		rights, err = k.client.Rights(ctx, name)
		return err
	})
	switch {
	case err != nil:
		k.fault(settings, "topic %s: %v", name, err)
	case !rights.Known:
		k.warn("topic %s: the brokers do not tell the rights to it", name)
	default:
		if slices.Contains([]string{"in", "labels", "state", "identities"}, setting) && !rights.Read {
			k.fault(settings, "topic %s: no right to read it", name)
		}
		if setting != "in" && (setting != "labels" || k.config.Topics.Identities != "") && !rights.Write {
			k.fault(settings, "topic %s: no right to write it", name)
		}
	}
}

// group tests access to the consumer group, and reads its committed offsets.
func (k *checker) group(ctx context.Context) {
	t := &k.config.Topics
	reads := func(group, from string) bool {
		err := within(ctx, func(ctx context.Context) error {
			_, err := k.client.Committed(ctx, group, from, 0)
			return err
		})
		if err != nil {
			k.fault("group", "group %s: %v", group, err)
		}
		return err == nil
	}
	for _, in := range k.inputs {
		if !reads(t.Group, in) {
			return
		}
	}
	if t.Identities != "" && k.exists[t.Identities] && !reads(link.GroupOf(t.Group), t.Identities) {
		return
	}
	if others := othersOf(ctx, k.config, k.client); others != "" {
		k.warn("%s", others)
		return
	}
	k.good("group %s", k.config.Topics.Group)
}

// othersOf returns a warning if members of the group write to another topic than this process would: another
// stage was given the same group by mistake, and the two would divide the input. "" if none is known to.
func othersOf(ctx context.Context, c *config.Config, client *topic.Client) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	t := &c.Topics
	others, err := consumer.OtherOuts(ctx, client, t.Group, t.Out)
	if err != nil || len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("group %s has running members that write to %s, not to %s: "+
		"they divide the input among them; another stage needs another --group",
		t.Group, strings.Join(others, ", "), t.Out)
}

// state tests that the streams' state can be read.
func (k *checker) state(ctx context.Context) {
	name := k.config.Topics.StateTopic()
	if !k.exists[name] {
		return
	}
	list, faults, err := admin.ReadState(ctx, k.client, name, k.config.Topics.Group)
	if err != nil {
		k.fault("state", "state topic %s: %v", name, err)
		return
	}
	for _, bad := range faults {
		k.fault("state", "state topic %s: %v", name, bad)
	}
	for _, stream := range list {
		if stream.Err != nil {
			k.fault("state", "stream %s of %s/%d cannot be restored and would start cold: %v", stream.Stream,
				stream.Topic, stream.Partition, stream.Err)
		}
	}
	k.good("state of %d streams", len(list))
}
