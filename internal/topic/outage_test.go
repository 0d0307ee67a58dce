package topic

import (
	"errors"
	"testing"
)

// A failure is reported for the partition or the topic that it is about, not for one whose name is part of that.
func TestFailingNamesTheRightTopic(t *testing.T) {
	for _, c := range []struct {
		what   string
		is     bool
		topics []string
	}{
		{"reading in/1", true, nil},
		{"reading plain/1", false, nil},
		{"reading in/11", false, nil},
		{"committing the transaction of slkstream/group/in/1", true, nil},
		{"writing to out", true, []string{"out"}},
		{"writing to out", false, []string{"o", "outer"}},
		{"making topic out-dead", false, []string{"out"}},
		{"reading out/3", true, []string{"out"}},
	} {
		var client Client
		client.failures.set(c.what, errors.New("away"))
		found := client.Failing(TopicPartition{"in", 1}, c.topics...)
		if is := found.What == c.what && found.Err != nil; is != c.is {
			t.Errorf("%q with topics %q: %+v", c.what, c.topics, found)
		}
	}
}
