package topic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// Description describes a topic: of an existing one, or of one to create.
type Description struct {
	Name       string
	Partitions int // 0 in a request: the cluster's default
	Replicas   int // 0 in a request: the cluster's default
	// Settings by Kafka's names: cleanup.policy, segment.bytes...; nil in an answer: no right to read them.
	Settings map[string]string
}

// StateSettings returns the settings of a compacted topic that is read to its end at every start. Segments
// are small, closed early and cleaned early, because only closed segments are compacted, and every start
// reads all that is not compacted yet.
func StateSettings() map[string]string {
	return map[string]string{
		"cleanup.policy":            "compact",
		"segment.bytes":             "16777216",
		"segment.ms":                "600000",
		"min.cleanable.dirty.ratio": "0.1",
		"delete.retention.ms":       "86400000",
		"min.compaction.lag.ms":     "0",
	}
}

// ErrExists is wrapped by Create's error if a topic of that name exists, by Grow's if it has the partitions.
var ErrExists = errors.New("topic exists already")

// Create creates a topic and waits until its partitions have leaders.
func (c *Client) Create(ctx context.Context, d Description) error {
	request := kafka.TopicConfig{Topic: d.Name, NumPartitions: d.Partitions, ReplicationFactor: d.Replicas}
	if d.Partitions == 0 {
		request.NumPartitions = -1
	}
	if d.Replicas == 0 {
		request.ReplicationFactor = -1
	}
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		request.ConfigEntries = append(request.ConfigEntries,
			kafka.ConfigEntry{ConfigName: name, ConfigValue: d.Settings[name]})
	}
	answer, err := send(ctx, c.kafka.CreateTopics,
		kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{request}})
	if err == nil {
		err = answer.Errors[d.Name]
	}
	switch {
	case errors.Is(err, kafka.TopicAlreadyExists):
		return fmt.Errorf("create %s: %w", d.Name, ErrExists)
	case err != nil:
		return fmt.Errorf("create topic %s with %d partitions: %w", d.Name, d.Partitions, err)
	}
	return c.awaitLeaders(ctx, d.Name)
}

// Ensure creates a topic unless one of that name exists, which it does not change.
func (c *Client) Ensure(ctx context.Context, d Description) error {
	if _, err := c.Partitions(ctx, d.Name); err == nil {
		return nil
	}
	err := c.Create(ctx, d)
	if errors.Is(err, ErrExists) {
		return c.awaitLeaders(ctx, d.Name)
	}
	return err
}

// Delete deletes a topic. One that does not exist is no error.
func (c *Client) Delete(ctx context.Context, name string) error {
	answer, err := send(ctx, c.kafka.DeleteTopics, kafka.DeleteTopicsRequest{Topics: []string{name}})
	if err == nil {
		err = answer.Errors[name]
	}
	if err != nil && !errors.Is(err, kafka.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	return nil
}

// Grow raises the number of a topic's partitions. If it has as many, as after another process's Grow, the
// error is ErrExists.
func (c *Client) Grow(ctx context.Context, name string, partitions int) error {
	answer, err := send(ctx, c.kafka.CreatePartitions, kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: name, Count: int32(partitions)}},
	})
	if err == nil {
		err = answer.Errors[name]
	}
	switch {
	case errors.Is(err, kafka.InvalidPartitionNumber):
		return fmt.Errorf("grow topic %s to %d partitions: %w", name, partitions, ErrExists)
	case err != nil:
		return fmt.Errorf("grow topic %s to %d partitions: %w", name, partitions, err)
	}
	return nil
}

// awaitLeaders waits until all partitions of a new topic have leaders: right after the creation some report
// that they have none, which is no fault.
func (c *Client) awaitLeaders(ctx context.Context, name string) error {
	const patience, pause = 30 * time.Second, 50 * time.Millisecond
	for begun := time.Now(); ; {
		n, err := c.Partitions(ctx, name)
		for p := 0; err == nil && p < n; p++ {
			_, err = c.Offset(ctx, name, int32(p), Earliest, false)
		}
		if err == nil || !Temporary(err) || time.Since(begun) > patience {
			return err
		}
		if err := Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// Partitions returns a topic's number of partitions, which may be up to two seconds old.
func (c *Client) Partitions(ctx context.Context, name string) (int, error) {
	t, err := c.layout(ctx, name)
	if err != nil {
		return 0, err
	}
	return len(t.Partitions), nil
}

// Describe returns a topic's partitions, replicas and settings.
func (c *Client) Describe(ctx context.Context, name string) (Description, error) {
	d := Description{Name: name}
	t, err := c.layout(ctx, name)
	if err != nil {
		return d, err
	}
	d.Partitions = len(t.Partitions)
	if d.Partitions > 0 {
		d.Replicas = len(t.Partitions[0].ReplicaNodes)
	}
	all, err := c.Settings(ctx, name)
	settings, exists := all[name]
	if err == nil && !exists {
		err = kafka.UnknownTopicOrPartition
	}
	if err != nil {
		return d, fmt.Errorf("describe topic %s: %w", name, err)
	}
	d.Settings = settings
	return d, nil
}

// Settings reads the settings of topics, with one request. Those that are missing are left out, and those whose settings
// may not be read have none: the right to describe a topic does not include them.
func (c *Client) Settings(ctx context.Context, names ...string) (map[string]map[string]string, error) {
	var request kafka.DescribeConfigsRequest
	for _, name := range names {
		request.Resources = append(request.Resources,
			kafka.DescribeConfigRequestResource{ResourceType: kafka.ResourceTypeTopic, ResourceName: name})
	}
	answer, err := send(ctx, c.kafka.DescribeConfigs, request)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for _, r := range answer.Resources {
		switch {
		case IsMissing(r.Error):
		case errors.Is(r.Error, kafka.TopicAuthorizationFailed):
			all[r.ResourceName] = nil
		case r.Error != nil:
			return nil, fmt.Errorf("topic %s: %w", r.ResourceName, r.Error)
		default:
			settings := map[string]string{}
			for _, e := range r.ConfigEntries {
				settings[e.ConfigName] = e.ConfigValue
			}
			all[r.ResourceName] = settings
		}
	}
	return all, nil
}

// Compact sets a topic's cleanup.policy to compact.
func (c *Client) Compact(ctx context.Context, name string) error {
	answer, err := send(ctx, c.kafka.IncrementalAlterConfigs, kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{
				{Name: "cleanup.policy", Value: "compact", ConfigOperation: kafka.ConfigOperationSet},
			},
		}},
	})
	if err == nil && len(answer.Resources) > 0 {
		err = answer.Resources[0].Error
	}
	if err != nil {
		return fmt.Errorf("compact topic %s: %w", name, err)
	}
	return nil
}

// layout returns the cached metadata of one topic. Leaders may have changed since.
func (c *Client) layout(ctx context.Context, name string) (*metadata.ResponseTopic, error) {
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		return c.transport.RoundTrip(ctx, c.kafka.Addr, &metadata.Request{TopicNames: []string{name}})
	})
	if err != nil {
		settings, dial := "--brokers, --tls, --sasl", (*net.OpError)(nil)
		if errors.As(err, &dial) && dial.Op == "dial" {
			settings = "--brokers"
		}
		return nil, fmt.Errorf("ask the brokers at %s for their topics (%s): %w", c.kafka.Addr, settings, err)
	}
	t := &answer.(*metadata.Response).Topics[0]
	code := kafka.Error(t.ErrorCode)
	// Metadata of all topics leaves a topic without rights out. One without partitions is being made or deleted.
	if code == kafka.TopicAuthorizationFailed || code == 0 && len(t.Partitions) == 0 {
		code = kafka.UnknownTopicOrPartition
	}
	if code != 0 {
		return nil, fmt.Errorf("topic %s: %w", name, code)
	}
	return t, nil
}
