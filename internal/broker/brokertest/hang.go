package brokertest

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/topic"
)

// Hang has the end of the next transaction reach some partitions only, although its coordinator takes it for complete:
// what Apache Kafka 4.3 does if a broker is killed while it ends a transaction. In all others, and in the group, the
// transaction hangs until a later one of its producer ends there.
func Hang(cluster *kfake.Cluster, client *topic.Client, ended ...topic.TopicPartition) {
	h := &hang{cluster: cluster, client: client, ended: ended}
	for key, control := range map[kmsg.Key]func(kmsg.Request) (kmsg.Response, error, bool){
		kmsg.EndTxn: h.end, kmsg.DescribeTransactions: h.describe, kmsg.InitProducerID: h.takeOver,
		kmsg.AddPartitionsToTxn: h.add, kmsg.AddOffsetsToTxn: h.add, kmsg.TxnOffsetCommit: h.add, kmsg.Produce: h.write,
	} {
		cluster.ControlKey(int16(key), func(r kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			return control(r)
		})
	}
}

// hang plays the coordinator between the transaction's end and that of the next one: the cluster, which knows no hanging
// transaction, still has it open.
type hang struct {
	cluster *kfake.Cluster
	client  *topic.Client
	ended   []topic.TopicPartition

	mutex    sync.Mutex
	id       string
	producer int64
	epoch    int16 // of the transaction, and in the cluster
	claimed  int16 // that its owner has
	state    string
	over     bool // the next transaction has ended it; then the owner must take over again, to have the cluster's epoch
}

func (h *hang) end(request kmsg.Request) (kmsg.Response, error, bool) {
	r := request.(*kmsg.EndTxnRequest)
	if !h.begin(r) {
		return nil, nil, false
	}
	var err error
	h.cluster.SleepControl(func() { err = h.mark(r.Commit) })
	answer := r.ResponseKind().(*kmsg.EndTxnResponse)
	if r.Version >= topic.EndRaisesEpoch {
		answer.ProducerID, answer.ProducerEpoch = h.producer, h.claimed
	}
	return answer, err, true
}

// begin says whether r is the end that is to reach some partitions only.
func (h *hang) begin(r *kmsg.EndTxnRequest) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state != "" {
		if !h.over && r.TransactionalID == h.id && r.ProducerEpoch == h.claimed {
			r.ProducerEpoch, h.over = h.epoch, true
		}
		return false
	}
	h.id, h.producer, h.epoch, h.claimed = r.TransactionalID, r.ProducerID, r.ProducerEpoch, r.ProducerEpoch
	if r.Version >= topic.EndRaisesEpoch {
		h.claimed++
	}
	h.state = map[bool]string{true: "CompleteCommit", false: "CompleteAbort"}[r.Commit]
	return true
}

// mark writes the end of the transaction to the partitions that it reaches.
func (h *hang) mark(commit bool) error {
	marker := kmsg.NewWriteTxnMarkersRequestMarker()
	marker.ProducerID, marker.ProducerEpoch, marker.Committed = h.producer, h.epoch, commit
	for _, at := range h.ended {
		to := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		to.Topic, to.Partitions = at.Topic, []int32{at.Partition}
		marker.Topics = append(marker.Topics, to)
	}
	request := kmsg.NewPtrWriteTxnMarkersRequest()
	request.Markers = append(request.Markers, marker)
	answer, err := h.client.Ask(context.Background(), request, 0, "")
	if err != nil {
		return err
	}
	for _, m := range answer.(*kmsg.WriteTxnMarkersResponse).Markers {
		for _, t := range m.Topics {
			for _, p := range t.Partitions {
				if err := topic.Refusal(p.ErrorCode); err != nil {
					return fmt.Errorf("%s/%d: %w", t.Topic, p.Partition, err)
				}
			}
		}
	}
	return nil
}

func (h *hang) describe(request kmsg.Request) (kmsg.Response, error, bool) {
	r := request.(*kmsg.DescribeTransactionsRequest)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state == "" || h.over || r.TransactionalIDs[0] != h.id {
		return nil, nil, false
	}
	answer := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	state := kmsg.NewDescribeTransactionsResponseTransactionState()
	state.TransactionalID, state.ProducerID, state.ProducerEpoch, state.State = h.id, h.producer, h.claimed, h.state
	answer.TransactionStates = append(answer.TransactionStates, state)
	return answer, nil, true
}

func (h *hang) takeOver(request kmsg.Request) (kmsg.Response, error, bool) {
	r := request.(*kmsg.InitProducerIDRequest)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state == "" || h.over || r.TransactionalID == nil || *r.TransactionalID != h.id {
		return nil, nil, false
	}
	h.claimed++
	h.state = "Empty"
	answer := r.ResponseKind().(*kmsg.InitProducerIDResponse)
	answer.ProducerID, answer.ProducerEpoch = h.producer, h.claimed
	return answer, nil, true
}

func (h *hang) add(request kmsg.Request) (kmsg.Response, error, bool) {
	switch r := request.(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		h.join(r.TransactionalID, &r.ProducerEpoch)
	case *kmsg.AddOffsetsToTxnRequest:
		h.join(r.TransactionalID, &r.ProducerEpoch)
	case *kmsg.TxnOffsetCommitRequest:
		h.join(r.TransactionalID, &r.ProducerEpoch)
	}
	return nil, nil, false
}

// write sees by which epoch the owner writes: the cluster takes it over.
func (h *hang) write(request kmsg.Request) (kmsg.Response, error, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, t := range request.(*kmsg.ProduceRequest).Topics {
		for _, p := range t.Partitions {
			const producer, epoch = 43, 51 // where a batch has them
			if h.state == "" || len(p.Records) < epoch+2 || binary.BigEndian.Uint64(p.Records[producer:]) != uint64(h.producer) {
				continue
			}
			if binary.BigEndian.Uint16(p.Records[epoch:]) == uint16(h.claimed) {
				h.epoch = h.claimed
			}
		}
	}
	return nil, nil, false
}

// join has the owner's next transaction be the one that hangs.
func (h *hang) join(id string, epoch *int16) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.state != "" && !h.over && id == h.id && *epoch == h.claimed {
		*epoch = h.epoch
	}
}
