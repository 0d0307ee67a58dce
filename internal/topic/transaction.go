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
// false for an open and for an aborted one. It is not known if the id was taken over since, and if brokers before 3.0, or
// the rights to the id, hide it.
func (c *Client) CommittedLast(ctx context.Context, id string) (committed, known bool, err error) {
	request := kmsg.NewPtrDescribeTransactionsRequest()
	if newest, err := c.newest(ctx, request.Key()); err != nil || newest < 0 {
		return false, false, err
	}
	request.TransactionalIDs = []string{id}
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		asked := &transactionAsking{asking{ctx, c.clientID, request, "", requestTimeout, nil}, id}
		return c.transport.RoundTrip(ctx, c.kafka.Addr, asked)
	})
	if err != nil {
		return false, false, err
	}
	described := answer.(*answering).Response.(*kmsg.DescribeTransactionsResponse).TransactionStates
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
