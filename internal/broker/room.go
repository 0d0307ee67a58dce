package broker

import (
	"errors"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leastFree is the room on the disk below which records are refused. It is left for offsets, transactions and
// groups, which are small.
const leastFree = 32 << 20

// room refuses records while the disk is nearly full. The broker itself answers an error if it cannot write a
// batch, but has counted its sequence number by then: when the producer sends the batch again, the broker
// takes it for a repeat and acknowledges it without having written it.
type room struct {
	cluster *kfake.Cluster
	log     *slog.Logger
	free    func() (bytes int64, known bool)
	told    time.Time // of the last line in the log
}

func startRoom(cluster *kfake.Cluster, free func() (bytes int64, known bool), log *slog.Logger) {
	r := &room{cluster: cluster, free: free, log: log}
	cluster.ControlKey(int16(kmsg.Produce), r.produce)
}

func (r *room) produce(request kmsg.Request) (kmsg.Response, error, bool) {
	free, known := r.free()
	if !known || free >= leastFree {
		return nil, nil, false
	}
	r.cluster.KeepControl()
	if time.Since(r.told) > time.Minute {
		r.told = time.Now()
		r.log.Error("embedded broker: the disk is full: records are refused until there is room",
			"free_bytes", free, "needed_bytes", leastFree)
	}
	produce := request.(*kmsg.ProduceRequest)
	if produce.Acks == 0 {
		return nil, errors.New("the disk is full"), true // ends the connection, as nothing is answered
	}
	answer := produce.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range produce.Topics {
		refused := kmsg.NewProduceResponseTopic()
		refused.Topic, refused.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			one := kmsg.NewProduceResponseTopicPartition()
			one.Partition, one.BaseOffset, one.ErrorCode = p.Partition, -1, kerr.KafkaStorageError.Code
			refused.Partitions = append(refused.Partitions, one)
		}
		answer.Topics = append(answer.Topics, refused)
	}
	return answer, nil, true
}
