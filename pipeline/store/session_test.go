package store

import (
	"testing"

	"github.com/slkstream/slkstream/internal/topic"
)

// A session goes on only if nothing shows that another owner has written state in between.
func TestSessionThatOthersMayHaveEnded(t *testing.T) {
	for name, f := range map[string]found{
		"another owner's journal":     {topic.ID{2}, 10, 51, true},
		"another state topic":         {topic.ID{3}, 10, 50, false},
		"a state topic that is short": {topic.ID{2}, 10, 49, false},
		"a state topic that was cut":  {topic.ID{2}, 51, 60, false},
	} {
		s := &Session{id: topic.ID{2}, end: 50}
		if s.differs(f) == "" {
			t.Errorf("%s goes unnoticed", name)
		}
	}
	s := &Session{id: topic.ID{2}, end: 50}
	for _, end := range []int64{50, 70} { // others' state, of another input or group
		if why := s.differs(found{topic.ID{2}, 10, end, false}); why != "" || s.end != end {
			t.Errorf("state to %d: %q", end, why)
		}
	}
}
