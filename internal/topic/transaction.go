package topic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionRequest is routed to the coordinator of a transactional id.
type transactionRequest struct {
	rawRequest
	id string
}

// Transaction implements protocol.TransactionalMessage.
func (a *transactionRequest) Transaction() string { return a.id }

// transactionalIDNotFound is a code that kafka-go has no name for.
const transactionalIDNotFound = kafka.Error(105)

// EndRaisesEpoch is the version of the request that ends a transaction from which on the coordinator raises the epoch with
// each end (transactions of version 2, KIP-890): whatever of the ended transaction arrives late is refused.
const EndRaisesEpoch = 5

// EndVersion returns the version in which transactions are to be ended: EndRaisesEpoch if all brokers raise epochs, which
// is a feature that an administrator has turned on or off for the cluster.
func (c *Client) EndVersion(ctx context.Context) (int16, error) {
	newest, err := c.newest(ctx, kmsg.EndTxn.Int16())
	if err != nil {
		return 0, err
	}
	older := max(min(newest, 1), 0)
	if newest < EndRaisesEpoch {
		return older, nil
	}
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "slkstream", "1"
	answer, err := c.Ask(ctx, request, 3, "") // the first with features
	if err != nil {
		return 0, fmt.Errorf("features of the brokers: %w", err)
	}
	for _, f := range answer.(*kmsg.ApiVersionsResponse).FinalizedFeatures {
		if f.Name == "transaction.version" && f.MaxVersionLevel >= 2 {
			return EndRaisesEpoch, nil
		}
	}
	return older, nil
}

// End commits or aborts a transaction, with a request in one version. Stamp is its producer's identity. From EndRaisesEpoch
// on it returns the identity for the next transaction, of which the numbers begin at 0 again: another producer when the
// epochs of one are used up. A repeated request gets the same answer, until the next transaction begins.
func (c *Coordinators) End(ctx context.Context, id string, s Stamp, commit bool, version int16) (next Stamp, err error) {
	request := kmsg.NewPtrEndTxnRequest()
	request.SetVersion(version)
	request.TransactionalID, request.ProducerID, request.ProducerEpoch, request.Commit = id, s.Producer, s.Epoch, commit
	asked := &transactionRequest{rawRequest{ctx, c.client.clientID, request, "", requestTimeout, nil}, id}
	answer, err := c.RoundTrip(ctx, c.client.kafka.Addr, asked)
	if err != nil {
		return s, err
	}
	ended := answer.(*rawResponse).Response.(*kmsg.EndTxnResponse)
	if err := Refusal(ended.ErrorCode); err != nil || version < EndRaisesEpoch {
		return s, err
	}
	return Stamp{Producer: ended.ProducerID, Epoch: ended.ProducerEpoch}, nil
}

// CommittedLast says whether the coordinator of a transactional id has decided to commit the id's last transaction. It is
// false for an open and for an aborted one. It is not known if the id was taken over since, and if brokers before 3.0, or
// the rights to the id, hide it.
func (c *Client) CommittedLast(ctx context.Context, id string) (committed, known bool, err error) {
	request := kmsg.NewPtrDescribeTransactionsRequest()
	if newest, err := c.newest(ctx, request.Key()); err != nil || newest < 0 {
		return false, false, err
	}
	request.TransactionalIDs = []string{id}
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		asked := &transactionRequest{rawRequest{ctx, c.clientID, request, "", requestTimeout, nil}, id}
		return c.transport.RoundTrip(ctx, c.kafka.Addr, asked)
	})
	if err != nil {
		return false, false, err
	}
	described := answer.(*rawResponse).Response.(*kmsg.DescribeTransactionsResponse).TransactionStates
	if len(described) != 1 {
		return false, false, fmt.Errorf("%w: the answer is about %d transactions", ErrCorrupt, len(described))
	}
	err = Refusal(described[0].ErrorCode)
	if errors.Is(err, transactionalIDNotFound) || errors.Is(err, kafka.TransactionalIDAuthorizationFailed) {
		return false, false, nil
	}
	state := described[0].State
	return strings.HasSuffix(state, "Commit"), err == nil && state != "Empty", err // PrepareCommit, CompleteCommit
}

// OffsetIsOpen says whether a transaction that has not ended in the group holds an offset of a partition. It is false if
// brokers before 2.5 hide it.
func (c *Client) OffsetIsOpen(ctx context.Context, group string, of TopicPartition) (bool, error) {
	const stable = 7 // the first version that waits for such a transaction
	request := kmsg.NewPtrOffsetFetchRequest()
	if newest, err := c.newest(ctx, request.Key()); err != nil || newest < stable {
		return false, err
	}
	request.Group, request.RequireStable = group, true
	asked := kmsg.NewOffsetFetchRequestTopic()
	asked.Topic, asked.Partitions = of.Topic, []int32{of.Partition}
	request.Topics = append(request.Topics, asked)
	answer, err := c.Ask(ctx, request, stable, group)
	if err != nil {
		return false, fmt.Errorf("offset of group %s in %s: %w", group, of, err)
	}
	found := answer.(*kmsg.OffsetFetchResponse)
	code := found.ErrorCode
	for _, t := range found.Topics {
		for _, p := range t.Partitions {
			code = cmp.Or(code, p.ErrorCode)
		}
	}
	switch err := Refusal(code); {
	case errors.Is(err, kafka.UnstableOffsetCommit):
		return true, nil
	case err != nil && !errors.Is(err, kafka.GroupIdNotFound):
		return false, &Refused{"offset of group " + group + " in", of.Topic, of.Partition, err}
	}
	return false, nil
}
