package topic

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/produce"
	"github.com/segmentio/kafka-go/protocol/rawproduce"

	"github.com/slkstream/slkstream/internal/record"
)

// requestLimit bounds the bytes of one request, below the brokers' default socket.request.max.bytes
// (100 MiB).
const requestLimit = 32 << 20

// BatchLimit bounds the bytes of one batch, below the brokers' default message.max.bytes (1,048,588). A
// larger record is sent alone, and the broker may refuse it.
const BatchLimit = 1_000_000

// TopicPartition is a partition of a topic.
type TopicPartition struct {
	Topic     string
	Partition int32
}

func (p TopicPartition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

// EncodedBatch is a record batch to be sent, and the result of sending it.
type EncodedBatch struct {
	TopicPartition
	Data []byte // the length in four bytes, then the batch in appendBatch's format, maybe compressed
	Err  error  // after Send; nil: acknowledged
	Base int64  // after Send: the offset of its first record

	reason string // the brokers' words for Err, if they give any
}

// Encode encodes records, at least one, as a batch for Send. A record without a time gets this machine's.
func Encode(tp TopicPartition, records []record.Out, stamp Stamp, how Compression) *EncodedBatch {
	return encode(tp, records, stamp, how, time.Now())
}

func encode(tp TopicPartition, records []record.Out, stamp Stamp, how Compression, now time.Time) *EncodedBatch {
	size := 4 + BatchHead
	for i := range records {
		size += sizeAtMost(&records[i])
	}
	data := []byte(nil)
	if used, ok := batchMemory.Get().(*[]byte); ok {
		data = (*used)[:0]
	}
	data = appendBatch(append(slices.Grow(data, size), 0, 0, 0, 0), records, stamp, now)
	if packed := compressed(data[4:], how); len(packed) < len(data)-4 {
		data = append(data[:4], packed...)
	}
	n := len(data) - 4
	data[0], data[1], data[2], data[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return &EncodedBatch{TopicPartition: tp, Data: data}
}

// batchMemory holds the Data of batches that were acknowledged, for others.
var batchMemory sync.Pool

// Partition chooses the partition of a key as Java's producer does. A nil key goes to origin
// modulo partitions.
func Partition(key []byte, origin int32, partitions int) int32 {
	if key == nil {
		return origin % int32(partitions)
	}
	all := make([]int, 0, 64)
	for p := range partitions {
		all = append(all, p)
	}
	return int32(byKey.Balance(kafka.Message{Key: key}, all...))
}

var byKey = kafka.Murmur2Balancer{Consistent: true}

// Spread distributes records to their partitions, in order, and cuts those of a partition into batches of at
// most BatchLimit, or the topic's lower limit. The batches of a partition must be sent one after the other.
// origin is the partition of records without a key; see Partition.
func (c *Client) Spread(ctx context.Context, records []record.Out, origin int32) (Queue, error) {
	parts, counts := map[TopicPartition][]record.Out{}, map[string]int{}
	from := 0
	for i := range records {
		r := &records[i]
		if i+1 < len(records) && together(r, &records[i+1]) {
			continue
		}
		tp := TopicPartition{r.Topic, r.Partition}
		if r.Partition < 0 {
			n := counts[r.Topic]
			if n == 0 {
				var err error
				if n, err = c.Partitions(ctx, r.Topic); err != nil {
					return nil, err
				}
				if n == 0 {
					return nil, fmt.Errorf("topic %s: %w", r.Topic, kafka.LeaderNotAvailable)
				}
				counts[r.Topic] = n
			}
			tp.Partition = Partition(r.Key, origin, n)
		}
		if len(parts) == 0 || len(parts) == 1 && parts[tp] != nil {
			parts[tp] = records[: i+1 : i+1] // usual: all go to one partition
		} else {
			parts[tp] = append(parts[tp], records[from:i+1]...)
		}
		from = i + 1
	}
	spread := make(Queue, len(parts))
	for tp, part := range parts {
		most := c.batchLimit(tp.Topic) - BatchHead
		from, size := 0, 0
		for i := range part {
			more := sizeAtMost(&part[i])
			if i > from && size+more > most {
				spread[tp] = append(spread[tp], &queuedBatch{records: part[from:i:i]})
				from, size = i, 0
			}
			size += more
		}
		spread[tp] = append(spread[tp], &queuedBatch{records: part[from:len(part):len(part)]})
	}
	return spread, nil
}

// together says whether two records go to the same partition because they are alike.
func together(a, b *record.Out) bool {
	return a.Topic == b.Topic && a.Partition == b.Partition &&
		(a.Partition >= 0 || bytes.Equal(a.Key, b.Key) && (a.Key == nil) == (b.Key == nil))
}

// Write writes records and returns when all in-sync replicas have them. Records of one partition keep their
// order; partitions are written in parallel. While brokers are away it retries until ctx ends, and logs that
// once. It resends only what was not acknowledged, which may repeat records whose acknowledgement was lost.
// An error is final: a *Refused (too large, no rights), or a topic that is missing for half a minute. Some
// records may have been written then.
func (c *Client) Write(ctx context.Context, records []record.Out) error {
	return (&Sender{Client: c}).Write(ctx, records)
}

// limit is what is known of the records that a topic takes.
type limit struct {
	bytes   int // of the largest, by the topic's max.message.bytes; 0: not known
	asked   time.Time
	refused int // the smallest size rejected, of a record without a fallback; 0: none was
}

// messageLimit returns the size of the largest record that a topic's max.message.bytes allows; 0: not known.
// The answer is at most age old, unless the topic could not be described since.
func (c *Client) messageLimit(ctx context.Context, name string, age time.Duration) int {
	c.mutex.Lock()
	known := c.limits[name]
	c.mutex.Unlock()
	if time.Since(known.asked) < age {
		return known.bytes
	}
	asked := time.Now()
	if d, err := c.Describe(ctx, name); err == nil {
		if bytes, err := strconv.Atoi(d.Settings["max.message.bytes"]); err == nil {
			known.bytes = max(min(bytes, requestLimit)-BatchHead, 1)
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.limits[name] = limit{known.bytes, asked, c.limits[name].refused}
	return known.bytes
}

// RecordLimit returns the size of the largest record that a topic accepts: by its settings, or half of the
// smallest size that it has refused, if that is within them; 0: neither is known.
func (c *Client) RecordLimit(ctx context.Context, name string) int {
	most := c.messageLimit(ctx, name, 0)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if refused := c.limits[name].refused; refused > 0 && (most == 0 || most >= refused) {
		return refused / 2
	}
	return most
}

// refuse stores that a topic has refused a record of this size.
func (c *Client) refuse(name string, size int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known := c.limits[name]
	known.refused = min(cmp.Or(known.refused, size), size)
	c.limits[name] = known
}

// batchLimit returns the most bytes of one batch for a topic: BatchLimit, or less if the topic's limit was
// found to be lower in the last ten minutes.
func (c *Client) batchLimit(name string) int {
	const fresh = 10 * time.Minute
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if known := c.limits[name]; known.bytes > 0 && time.Since(known.asked) < fresh {
		return min(BatchLimit, known.bytes+BatchHead)
	}
	return BatchLimit
}

// slowestLink is how many bytes a second a link carries at least: batches that it takes longer for are sent
// anew, and would be for ever.
const slowestLink = 50_000

// Send sends batches, at most one for each partition, with acks=all, and sets their Err and Base. It tries
// once: a batch whose Err is a broken connection or a timeout may have been written. transaction is the
// transactional id, "" outside a transaction.
func (c *Client) Send(ctx context.Context, transaction string, batches []*EncodedBatch) {
	limit := requestTimeout
	for _, b := range batches {
		limit += time.Second * time.Duration(len(b.Data)) / slowestLink
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := c.transport.RoundTrip(limited, c.kafka.Addr, &sending{transaction, batches, &c.quota})
	if err == nil {
		return
	}
	for _, b := range batches {
		b.Err = err
	}
}

// sending is a produce request to any number of leaders, which kafka-go splits with Split and joins
// with Merge.
type sending struct {
	transaction string
	batches     []*EncodedBatch
	quota       *writeQuota
}

var errNoAnswer = errors.New("the broker's answer leaves the partition out")

func (s *sending) ApiKey() protocol.ApiKey { return protocol.Produce }

// Split makes one request for each leader, or more if one would exceed requestLimit. A batch without a known
// leader is left out, with its Err set.
func (s *sending) Split(cluster protocol.Cluster) ([]protocol.Message, protocol.Merger, error) {
	type message struct {
		*rawproduce.Request
		size int
	}
	byLeader := map[int32]message{}
	var messages []protocol.Message
	for _, b := range s.batches {
		one := rawproduce.RequestTopic{Topic: b.Topic, Partitions: []rawproduce.RequestPartition{{
			Partition: b.Partition,
			RecordSet: protocol.RawRecordSet{Reader: bytes.NewReader(b.Data)},
		}}}
		leader, err := (&rawproduce.Request{Topics: []rawproduce.RequestTopic{one}}).Broker(cluster)
		if err != nil {
			b.Err = fmt.Errorf("write %s/%d: %w", b.Topic, b.Partition, err)
			continue
		}
		b.Err = errNoAnswer
		m := byLeader[leader.ID]
		if m.Request == nil || m.size+len(b.Data) > requestLimit {
			m = message{Request: &rawproduce.Request{
				TransactionalID: s.transaction, Acks: int16(kafka.RequireAll),
				Timeout: int32(requestTimeout.Milliseconds() * 8 / 10),
			}}
			messages = append(messages, m.Request)
		}
		m.size += len(b.Data)
		m.Topics = appendTopic(m.Topics, one)
		byLeader[leader.ID] = m
	}
	return messages, s, nil
}

// appendTopic keeps each topic once in a request: if it is listed twice, brokers may answer only the second.
func appendTopic(topics []rawproduce.RequestTopic, one rawproduce.RequestTopic) []rawproduce.RequestTopic {
	for i := range topics {
		if topics[i].Topic == one.Topic {
			topics[i].Partitions = append(topics[i].Partitions, one.Partitions...)
			return topics
		}
	}
	return append(topics, one)
}

// Merge sets every batch's Err and Base from its leader's answer.
func (s *sending) Merge(messages []protocol.Message, results []interface{}) (protocol.Message, error) {
	batches := make(map[TopicPartition]*EncodedBatch, len(s.batches))
	for _, b := range s.batches {
		batches[b.TopicPartition] = b
	}
	for i, m := range messages {
		answer, err := protocol.Result(results[i])
		if err != nil {
			for _, t := range m.(*rawproduce.Request).Topics {
				for _, p := range t.Partitions {
					at := TopicPartition{t.Topic, p.Partition}
					batches[at].Err = fmt.Errorf("write %s/%d: %w", t.Topic, p.Partition, err)
				}
			}
			continue
		}
		written := answer.(*produce.Response)
		s.quota.asked(time.Duration(written.ThrottleTimeMs) * time.Millisecond)
		for _, t := range written.Topics {
			for _, p := range t.Partitions {
				b := batches[TopicPartition{t.Topic, p.Partition}]
				if b == nil {
					continue
				}
				b.Err, b.Base = nil, p.BaseOffset
				if p.ErrorCode != 0 {
					b.Err = &Refused{"write", t.Topic, p.Partition, kafka.Error(p.ErrorCode)}
					b.reason = p.ErrorMessage
					for _, one := range p.RecordErrors {
						b.reason += " " + one.BatchIndexErrorMessage
					}
				}
			}
		}
	}
	return s, nil
}
