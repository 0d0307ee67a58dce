package backfill

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/topic"
)

// A setting that only the plan has is another version's.
func TestPlanOfAnotherVersion(t *testing.T) {
	older := differences("", []byte(`{"limits":{"Size":30},"alias":true}`), []byte(`{"limits":{"Size":30}}`))
	if !slices.Equal(older, []string{otherVersion}) {
		t.Errorf("a setting that only the plan has: %v", older)
	}
}

// The memory of a comparison is bounded, and results outside the range are ignored.
func TestComparisonIsBounded(t *testing.T) {
	c := &Comparison{
		numbers: map[string]uint32{}, pages: map[pageAt]*[pageSize]calledBefore{},
		ranges: map[topic.TopicPartition]Range{{Topic: "in", Partition: 1}: {"in", 1, 10, 1 << 40}},
	}
	for _, value := range []string{
		``, `{}`, `7`, `{"id":"in/1/9","label":"a"}`, `{"id":"in/0/20","label":"a"}`,
		`{"id":"other/1/20","label":"a"}`,
		`{"id":"in/1/x","label":"a"}`, `{"id":"in/1/20/x","label":"a"}`, `{"id":"in/1/20/1/1","label":"a"}`,
	} {
		if err := c.result([]byte(value)); err != nil || len(c.pages) > 0 {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, id := range []string{"in/1/%d", "in/1/11/%d"} {
		c.bytes = comparedMost - 1<<20
		var err error
		i := 0
		for ; err == nil && i < 1<<16; i++ {
			err = c.put(fmt.Sprintf(id, 11+i*pageSize), "a", 1)
		}
		if !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %d entries: %v", id, i, err)
		}
	}
}
