package broker

import (
	"errors"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// makeTopics creates missing topics that clients request, as Kafka does if its settings allow it. The
// broker's own automatic creation loses these topics, with all their records, when its process is killed;
// only topics that are created by request are on disk at once.
func makeTopics(cluster *kfake.Cluster, log *slog.Logger) {
	cluster.ControlKey(int16(kmsg.Metadata), func(request kmsg.Request) (kmsg.Response, error, bool) {
		r := request.(*kmsg.MetadataRequest)
		if !r.AllowAutoTopicCreation || r.Version < 4 || len(r.Topics) == 0 {
			return nil, nil, false
		}
		// The request waits meanwhile; the broker answers others.
		cluster.SleepControl(func() {
			for _, t := range r.Topics {
				if t.Topic == nil {
					continue
				}
				err := cluster.CreateTopic(*t.Topic, 0, topicSettings())
				if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
					log.Warn("embedded broker: cannot make a topic a client asked for", "topic", *t.Topic,
						"error", err)
				}
			}
		})
		return nil, nil, false
	})
}
