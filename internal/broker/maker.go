package broker

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maker creates missing topics that clients request, as Kafka does if its settings allow it. The broker's own
// automatic creation loses these topics, with all their records, when its process is killed; only topics that
// are created by request are on disk at once.
type maker struct {
	cluster *kfake.Cluster
	client  *kafka.Client
	log     *slog.Logger

	mu   sync.Mutex
	made map[string]bool
}

func startMaker(cluster *kfake.Cluster, client *kafka.Client, log *slog.Logger) {
	m := &maker{cluster: cluster, client: client, log: log, made: map[string]bool{}}
	cluster.ControlKey(int16(kmsg.Metadata), m.asked)
	cluster.ControlKey(int16(kmsg.DeleteTopics), m.deleted)
}

// asked delays a metadata request until the topics that it may create exist; the broker
// answers other requests meanwhile.
func (m *maker) asked(request kmsg.Request) (kmsg.Response, error, bool) {
	r := request.(*kmsg.MetadataRequest)
	if !r.AllowAutoTopicCreation || r.Version < 4 {
		return nil, nil, false
	}
	var missing []string
	m.mu.Lock()
	for _, t := range r.Topics {
		if t.Topic != nil && !m.made[*t.Topic] {
			missing = append(missing, *t.Topic)
		}
	}
	m.mu.Unlock()
	if len(missing) > 0 {
		m.cluster.SleepControl(func() {
			for _, name := range missing {
				m.makeTopic(name)
			}
		})
	}
	return nil, nil, false
}

// deleted clears made, because a deleted topic may be requested again.
func (m *maker) deleted(kmsg.Request) (kmsg.Response, error, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.made)
	return nil, nil, false
}

func (m *maker) makeTopic(name string) {
	config := kafka.TopicConfig{Topic: name, NumPartitions: -1, ReplicationFactor: -1}
	for k, v := range TopicSettings() {
		config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: k, ConfigValue: v})
	}
	answer, err := m.client.CreateTopics(context.Background(), &kafka.CreateTopicsRequest{
		Addr:   m.client.Addr,
		Topics: []kafka.TopicConfig{config},
	})
	if err == nil {
		err = answer.Errors[name]
	}
	if err != nil && !errors.Is(err, kafka.TopicAlreadyExists) {
		m.log.Warn("embedded broker: cannot make a topic a client asked for", "topic", name, "error", err)
		return
	}
	m.mu.Lock()
	m.made[name] = true
	m.mu.Unlock()
}
