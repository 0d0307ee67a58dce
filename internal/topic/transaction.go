package topic

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionAsking is routed to the coordinator of a transactional id.
type transactionAsking struct {
	asking
	id string
}

// Transaction implements protocol.TransactionalMessage.
func (a *transactionAsking) Transaction() string { return a.id }

// transactionalIDNotFound is a code that kafka-go has no name for.
const transactionalIDNotFound = kafka.Error(105)

// CommittedLast says whether the coordinator of a transactional id has decided to commit the id's last transaction. It is
// false for an open and for an aborted one, if the id was taken over since, and if brokers before 3.0, or the rights to
// the id, leave it unknown.
func (c *Client) CommittedLast(ctx context.Context, id string) (bool, error) {
	request := kmsg.NewPtrDescribeTransactionsRequest()
	if c.newest(ctx, request.Key()) < 0 {
		return false, nil
	}
	request.TransactionalIDs = []string{id}
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		asked := &transactionAsking{asking{ctx, c.clientID, request, "", requestTimeout, nil}, id}
		return c.transport.RoundTrip(ctx, c.kafka.Addr, asked)
	})
	if err != nil {
		return false, err
	}
	described := answer.(*answering).Response.(*kmsg.DescribeTransactionsResponse).TransactionStates
	if len(described) != 1 {
		return false, fmt.Errorf("%w: the answer is about %d transactions", ErrCorrupt, len(described))
	}
	err = Refusal(described[0].ErrorCode)
	if errors.Is(err, transactionalIDNotFound) || errors.Is(err, kafka.TransactionalIDAuthorizationFailed) {
		return false, nil
	}
	return err == nil && strings.HasSuffix(described[0].State, "Commit"), err // PrepareCommit, CompleteCommit
}
