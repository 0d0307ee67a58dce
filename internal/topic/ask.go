package topic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rawRequest is a request that kafka-go routes, and that kmsg encodes because kafka-go lacks it or its version.
type rawRequest struct {
	ctx      context.Context
	clientID string
	kmsg.Request
	group  string // routes the request to the group's coordinator; "": any broker
	limit  time.Duration
	buffer []byte // reused for the answer if large enough
}

type rawResponse struct {
	kmsg.Response
	body []byte // which parts of the response alias
}

func (a *rawRequest) ApiKey() protocol.ApiKey                 { return protocol.ApiKey(a.Key()) }
func (a *rawResponse) ApiKey() protocol.ApiKey                { return protocol.ApiKey(a.Key()) }
func (a *rawRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the request and reads the answer.
func (a *rawRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	w := kmsg.NewRequestFormatter(kmsg.FormatterClientID(a.clientID)).AppendRequest(nil, a.Request, correlation)
	body, err := exchange(a.ctx, rw, w, a.buffer, a.limit)
	if err != nil {
		return nil, err
	}
	answer, whole := a.ResponseKind(), body
	// The header ends with tagged fields, of which none is defined, but in what says which versions there are.
	if answer.IsFlexible() && kmsg.Key(a.Key()) != kmsg.ApiVersions {
		if len(body) == 0 || body[0] != 0 {
			return nil, fmt.Errorf("%w: answer of %d bytes with tags in its head", ErrCorrupt, len(body))
		}
		body = body[1:]
	}
	if err := answer.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%w: answer of %d bytes: %w", ErrCorrupt, len(body), err)
	}
	return &rawResponse{answer, whole}, nil
}

// groupRequest is routed to the group's coordinator.
type groupRequest struct{ rawRequest }

// Group implements protocol.GroupMessage.
func (a *groupRequest) Group() string { return a.group }

// Ask sends a request in one version, to the coordinator of group, or to any broker if that is "".
func (c *Client) Ask(
	ctx context.Context, request kmsg.Request, version int16, group string,
) (kmsg.Response, error) {
	request.SetVersion(version)
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		a := rawRequest{ctx, c.clientID, request, group, requestTimeout, nil}
		if group != "" {
			return c.transport.RoundTrip(ctx, c.kafka.Addr, &groupRequest{a})
		}
		return c.transport.RoundTrip(ctx, c.kafka.Addr, &a)
	})
	if err != nil {
		return nil, err
	}
	return answer.(*rawResponse).Response, nil
}

// Refusal returns the error of a code of an answer; nil for 0.
func Refusal(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}

// Identity returns a new producer id, as a Stamp whose Sequence the caller must count. kafka-go's own request
// cannot be used: it looks for a transaction coordinator, and here there is no transaction.
func (c *Client) Identity(ctx context.Context) (Stamp, error) {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionTimeoutMillis = int32(requestTimeout.Milliseconds())
	answer, err := c.Ask(ctx, request, 0, "")
	if err == nil {
		err = Refusal(answer.(*kmsg.InitProducerIDResponse).ErrorCode)
	}
	if err != nil {
		return Anonymous, fmt.Errorf("get a producer's identity: %w", err)
	}
	a := answer.(*kmsg.InitProducerIDResponse)
	return Stamp{Producer: a.ProducerID, Epoch: a.ProducerEpoch}, nil
}

// ID is Kafka's topic id: it distinguishes a topic from one of the same name that was created after its
// deletion. The zero ID means unknown: brokers before 2.8 have no ids.
type ID [16]byte

// ID returns a topic's id, or the zero ID and no error if the brokers have no ids. A topic that does not
// exist is an error; the request never creates it.
func (c *Client) ID(ctx context.Context, name string) (ID, error) {
	t, err := c.fresh(ctx, name)
	if err != nil {
		return ID{}, fmt.Errorf("id of topic %s: %w", name, err)
	}
	return t.TopicID, nil
}

// Rights are a client's rights to a topic.
type Rights struct {
	Known       bool // false: the broker does not report rights
	Read, Write bool
}

// Rights asks the brokers for this client's rights to a topic, so that a missing right is found before the
// first write. Brokers before 2.8 are not asked.
func (c *Client) Rights(ctx context.Context, name string) (Rights, error) {
	t, err := c.fresh(ctx, name)
	if err != nil {
		return Rights{}, fmt.Errorf("rights to topic %s: %w", name, err)
	}
	bits := t.AuthorizedOperations
	if bits == math.MinInt32 { // not reported
		return Rights{}, nil
	}
	return Rights{Known: true, Read: bits&(1<<3) != 0, Write: bits&(1<<4) != 0}, nil
}

// idVersion is the first version of the metadata request with topic ids in its answers.
const idVersion = 10

// fresh returns a topic's metadata with its id and this client's rights to it, both unknown if the brokers
// are too old to report ids. kafka-go's own metadata has neither, and is answered from a cache.
func (c *Client) fresh(ctx context.Context, name string) (*kmsg.MetadataResponseTopic, error) {
	unknown := kmsg.NewMetadataResponseTopic() // its rights are MinInt32
	if c.withoutIDs.Load() {
		return &unknown, nil
	}
	request, asked := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
	asked.Topic, request.IncludeTopicAuthorizedOperations = &name, true
	request.Topics = append(request.Topics, asked)
	answer, err := c.Ask(ctx, request, idVersion, "")
	if err != nil {
		if c.oldMetadata(ctx) { // an old broker closes the connection, but so does one that stops
			c.withoutIDs.Store(true)
			return &unknown, nil
		}
		return nil, err
	}
	topics := answer.(*kmsg.MetadataResponse).Topics
	if len(topics) != 1 {
		return nil, errors.Join(ErrCorrupt, fmt.Errorf("answer for %d topics, asked for one", len(topics)))
	}
	return &topics[0], Refusal(topics[0].ErrorCode)
}

// oldMetadata says whether the brokers report that they support no metadata version with ids.
func (c *Client) oldMetadata(ctx context.Context) bool {
	newest, err := c.newest(ctx, int16(protocol.Metadata))
	return err == nil && newest >= 0 && newest < idVersion
}

// newest returns the newest version of a kind of request that the brokers support; -1: none.
func (c *Client) newest(ctx context.Context, key int16) (int16, error) {
	answer, err := send(ctx, c.kafka.ApiVersions, kafka.ApiVersionsRequest{})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return -1, fmt.Errorf("what the brokers support: %w", err)
	}
	for _, k := range answer.ApiKeys {
		if k.ApiKey == int(key) {
			return int16(k.MaxVersion), nil
		}
	}
	return -1, nil
}
