package main

import (
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/demo"
)

// Strangers have no right answer: an episode of three items and two strangers is 3/3, not 3/5.
func TestScoreLineLeavesStrangersOut(t *testing.T) {
	s := &score{last: &demo.Board{All: demo.Pair{{Name: "slkstream", Right: 30, All: 32}}}}
	now := demo.Board{All: demo.Pair{{Name: "slkstream", Right: 33, All: 35}}}
	_, line := s.line(&scored{number: 2, judged: make([]demo.Judged, 5)}, now)
	if !strings.Contains(line, " 3/3 ") {
		t.Error(line)
	}
}
