package store

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// planKey begins the keys of plans, where every other key begins with a topic's name. Each process that finds no plan
// writes one under its own key; the first in the topic is used.
const planKey = "/plan/"

// WritePlan writes the plan of a job.
func (s *Store) WritePlan(ctx context.Context, job string, plan []byte) error {
	key := planKey + job + "/" + strconv.FormatUint(rand.Uint64(), 16)
	return s.client.Write(ctx, []record.Out{{Topic: s.name, Partition: 0, Key: []byte(key), Value: plan}})
}

// Plan returns the plan of a job; nil: there is none.
func (s *Store) Plan(ctx context.Context, job string) ([]byte, error) {
	prefix := []byte(planKey + job + "/")
	for r, err := range s.client.All(ctx, topic.TopicPartition{Topic: s.name}) {
		if err != nil {
			return nil, err
		}
		if r.Value != nil && bytes.HasPrefix(r.Key, prefix) {
			return r.Value, nil
		}
	}
	return nil, nil
}
