package broker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/topic"
)

// recovery aborts the transactions that were open when the broker's process was killed. When the broker
// starts again it treats them as aborted, but writes no abort markers. Without its marker, readers also
// skip what the producer commits later, and after another kill the broker applies the next
// transaction's marker to both.
//
// A journal beside the data lists every partition that a producer has ever written to in a transaction, each
// once, and whether the broker was closed in order. If it was not, each of these pairs gets an abort marker,
// which has no effect where no transaction was open. Until then no transaction can begin. Then the journal begins
// anew: producers are replaced about once an hour, when their epochs are used up.
type recovery struct {
	cluster *kfake.Cluster
	log     *slog.Logger
	done    chan struct{} // closed when recovery is complete

	mu      sync.Mutex
	journal *os.File
	known   map[written]bool // on disk
	torn    bool             // the last line may be cut short
}

// written is a partition that a producer writes to in transactions.
type written struct {
	producer  int64
	topic     string
	partition int32
}

const closedInOrder = "closed"

func startRecovery(ctx context.Context, cluster *kfake.Cluster, client *topic.Client, path string,
	log *slog.Logger,
) (*recovery, error) {
	r := &recovery{cluster: cluster, log: log, done: make(chan struct{}), known: map[written]bool{}}
	cluster.ControlKey(int16(kmsg.InitProducerID), r.wait)
	cluster.ControlKey(int16(kmsg.AddPartitionsToTxn), r.added)
	killed, err := r.open(path)
	if err == nil && killed {
		err = r.giveUp(ctx, client)
	}
	if err != nil {
		return nil, fmt.Errorf("embedded broker: recover transactions: %w", err)
	}
	close(r.done)
	return r, nil
}

// open reads the journal and says whether the broker that wrote it was killed.
func (r *recovery) open(path string) (killed bool, err error) {
	if r.journal, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644); err != nil {
		return false, err
	}
	lines := bufio.NewScanner(r.journal)
	for lines.Scan() {
		var w written
		if killed = lines.Text() != closedInOrder; !killed {
			continue
		}
		// else cut short, so never acknowledged
		if _, err := fmt.Sscan(lines.Text(), &w.producer, &w.topic, &w.partition); err == nil {
			r.known[w] = true
		}
	}
	return killed, lines.Err()
}

// wait delays a request until recovery is complete.
func (r *recovery) wait(kmsg.Request) (kmsg.Response, error, bool) {
	select {
	case <-r.done:
	default:
		r.cluster.SleepControl(func() { <-r.done })
	}
	return nil, nil, false
}

// added journals the partitions that a transaction is about to write to, before the broker accepts them. If
// that fails, the request does: its sender tries again.
func (r *recovery) added(request kmsg.Request) (kmsg.Response, error, bool) {
	r.wait(request)
	r.cluster.KeepControl()
	add := request.(*kmsg.AddPartitionsToTxnRequest)
	var pairs []written
	var lines strings.Builder
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range add.Topics {
		for _, p := range t.Partitions {
			if w := (written{add.ProducerID, t.Topic, p}); !r.known[w] {
				pairs = append(pairs, w)
				fmt.Fprintln(&lines, w.producer, w.topic, w.partition)
			}
		}
	}
	if len(pairs) == 0 {
		return nil, nil, false
	}
	if err := r.write(lines.String()); err != nil {
		r.log.Error("embedded broker: a transaction cannot begin", "error", err)
		return refused(add), nil, true
	}
	for _, w := range pairs {
		r.known[w] = true
	}
	return nil, nil, false
}

// write appends whole lines to the journal, after the rest of one that was cut short.
func (r *recovery) write(lines string) error {
	if r.torn {
		lines = "\n" + lines
	}
	_, err := r.journal.WriteString(lines)
	r.torn = err != nil
	return err
}

// refused answers that a transaction could not be journaled.
func refused(add *kmsg.AddPartitionsToTxnRequest) kmsg.Response {
	answer := add.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	for _, t := range add.Topics {
		topic := kmsg.NewAddPartitionsToTxnResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			partition := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p, kerr.CoordinatorNotAvailable.Code
			topic.Partitions = append(topic.Partitions, partition)
		}
		answer.Topics = append(answer.Topics, topic)
	}
	return answer
}

// giveUp writes an abort marker for every pair in the journal.
func (r *recovery) giveUp(ctx context.Context, client *topic.Client) error {
	for w := range r.known {
		to := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
		to.Topic, to.Partitions = w.topic, []int32{w.partition}
		marker := kmsg.NewWriteTxnMarkersRequestMarker()
		marker.ProducerID, marker.Topics = w.producer, append(marker.Topics, to)
		request := kmsg.NewPtrWriteTxnMarkersRequest()
		request.Markers = append(request.Markers, marker)
		answer, err := client.Ask(ctx, request, 0, "")
		if err != nil {
			return err
		}
		for _, m := range answer.(*kmsg.WriteTxnMarkersResponse).Markers {
			for _, t := range m.Topics {
				for _, p := range t.Partitions {
					// the topic may have been deleted since
					if err := kerr.ErrorForCode(p.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
						return fmt.Errorf("%s/%d: %w", t.Topic, p.Partition, err)
					}
				}
			}
		}
	}
	clear(r.known)
	return r.journal.Truncate(0)
}

// close records that nothing needs to be recovered: open transactions continue when the
// broker is started again.
func (r *recovery) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.write(closedInOrder + "\n"); err != nil {
		r.log.Error("embedded broker: open transactions will be given up", "error", err)
	}
	r.journal.Close()
}
