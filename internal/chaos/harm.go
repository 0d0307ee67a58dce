package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/topic"
)

// harm does one random harm.
func (w *world) harm() {
	s := w.stages[w.random.IntN(len(w.stages))]
	if s.network.isDead() { // killed by a strike since the last event
		w.replace(s)
		return
	}
	if w.plan.hostile && w.random.IntN(4) == 0 {
		w.squeeze()
		return
	}
	switch w.random.IntN(12) {
	case 0, 1:
		w.replace(s)
	case 2:
		w.h.note("%s is stopped", s.name)
		s.stop()
		w.start(s.instance)
	case 3:
		w.start("")
	case 4:
		long := historySession * time.Duration(1+w.random.IntN(3))
		w.h.note("%s is frozen for %v", s.name, long)
		s.network.freeze()
		if w.plan.ids { // with the same id, before the frozen one is missed
			w.start(s.instance)
		}
		time.AfterFunc(long, s.network.thaw)
	case 5:
		w.h.note("%s loses its connections", s.name)
		s.network.cut()
	case 6:
		n := 1 + w.random.IntN(4)
		w.h.note("%s loses %d answers", s.name, n)
		s.network.loseAnswers(n)
	case 7:
		by := time.Duration(1+w.random.IntN(30)) * time.Millisecond
		w.h.note("%s is slow by %v", s.name, by)
		s.network.slow(by)
	case 8:
		w.h.note("leaders and coordinators move")
		w.server.Cluster.ShufflePartitionLeaders()
		w.server.Cluster.RehashCoordinators()
	case 9, 10:
		w.strike(s)
	default:
		w.refuse()
	}
}

// moments are the requests at which a stage may be struck.
var moments = []kmsg.Key{
	kmsg.Produce, kmsg.OffsetCommit, kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.AddOffsetsToTxn,
	kmsg.TxnOffsetCommit,
	kmsg.EndTxn, kmsg.OffsetFetch, kmsg.ListOffsets, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.LeaveGroup,
}

// strike prepares to kill or freeze a stage at a request of a random kind, before it is sent or
// after its answer.
func (w *world) strike(s *stage) {
	moment := &strike{
		key: moments[w.random.IntN(len(moments))], count: 1 + w.random.IntN(4),
		afterAnswer: w.random.IntN(2) == 0,
	}
	long := historySession * time.Duration(1+w.random.IntN(3))
	what := "killed"
	if w.random.IntN(3) == 0 {
		what = "frozen"
		moment.blow = func() {
			s.network.freeze()
			time.AfterFunc(long, s.network.thaw)
		}
	} else {
		moment.blow = s.network.kill
	}
	when := "before"
	if moment.afterAnswer {
		when = "after"
	}
	w.h.note("%s is to be %s %s its next %v, the one of number %d", s.name, what, when, moment.key.Name(),
		moment.count)
	s.network.strikeAt(moment)
}

// maxMessage is Kafka's setting for the largest batch of a topic.
const maxMessage = "max.message.bytes"

// squeeze makes the topic of results or of dead letters reject everything for a while, as a full disk does.
func (w *world) squeeze() {
	name := []string{outTopic, outTopic + "-dead"}[w.random.IntN(2)]
	long := time.Duration(50+w.random.IntN(400)) * time.Millisecond
	w.h.note("%s refuses everything for %v", name, long)
	err := limitTopic(w.client, name, 120)
	time.Sleep(long)
	for range 10 { // the topic must accept records again: retry
		if err = limitTopic(w.client, name, largestResult); err == nil {
			return
		}
	}
	w.h.note("the limit of %s cannot be set: %v", name, err)
}

func limitTopic(client *topic.Client, name string, size int) error {
	return setTopic(client, name, maxMessage, strconv.Itoa(size))
}

// setTopic changes one setting of a topic.
func setTopic(client *topic.Client, name, setting, value string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	k := client.Kafka()
	answer, err := k.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Addr: k.Addr,
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
				Name: setting, Value: value,
				ConfigOperation: kafka.ConfigOperationSet,
			}},
		}},
	})
	if err != nil {
		return err
	}
	return answer.Resources[0].Error
}

// replace ends a stage as kill -9 does, if it is not dead already, and starts another.
func (w *world) replace(s *stage) {
	w.h.note("%s is killed", s.name)
	s.kill()
	w.stages = slices.DeleteFunc(w.stages, func(other *stage) bool { return other == s })
	w.start(s.instance)
}

// refuse makes the brokers reject a few requests, as they do when loading, moving or overloaded. One of the
// errors comes after the request was carried out.
func (w *world) refuse() {
	top := []kmsg.Key{
		kmsg.InitProducerID, kmsg.EndTxn, kmsg.AddOffsetsToTxn, kmsg.Heartbeat, kmsg.JoinGroup,
		kmsg.SyncGroup,
	}
	parts := []kmsg.Key{
		kmsg.Produce, kmsg.Fetch, kmsg.OffsetCommit, kmsg.TxnOffsetCommit,
		kmsg.AddPartitionsToTxn, kmsg.OffsetFetch, kmsg.ListOffsets,
	}
	f := kfake.Fault{Count: 1 + w.random.IntN(4)}
	if i := w.random.IntN(len(top) + len(parts)); i < len(top) {
		f.Keys, f.TopLevel = []kmsg.Key{top[i]}, true
		f.Err = []*kerr.Error{
			kerr.NotCoordinator, kerr.CoordinatorLoadInProgress,
			kerr.CoordinatorNotAvailable,
		}[w.random.IntN(3)]
	} else {
		key := parts[i-len(top)]
		f.Keys = []kmsg.Key{key}
		f.Err = kerr.RequestTimedOut
		switch key {
		case kmsg.Produce:
			f.Topic = []string{outTopic, groupName + "-state", outTopic + "-dead"}[w.random.IntN(3)]
			f.Err = []*kerr.Error{
				kerr.RequestTimedOut, kerr.NotLeaderForPartition, kerr.NotEnoughReplicasAfterAppend,
				kerr.NotEnoughReplicas,
			}[w.random.IntN(4)]
		case kmsg.Fetch, kmsg.ListOffsets:
			f.Err = kerr.NotLeaderForPartition
		case kmsg.AddPartitionsToTxn:
			f.Err = kerr.ConcurrentTransactions
		case kmsg.OffsetFetch:
			f.Err = kerr.CoordinatorLoadInProgress
		case kmsg.TxnOffsetCommit, kmsg.OffsetCommit:
			f.Err = []*kerr.Error{kerr.RequestTimedOut, kerr.NotCoordinator}[w.random.IntN(2)]
		}
	}
	w.h.note("%d times %v is answered with %s", f.Count, f.Keys[0].Name(), f.Err.Message)
	w.server.Cluster.Fault(f)
}
