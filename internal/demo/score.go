package demo

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// Score is how often one way of answering named the pictures right.
type Score struct {
	Name       string
	Right, All int64
}

// Share is the accuracy so far.
func (s Score) Share() float64 {
	if s.All == 0 {
		return 0
	}
	return float64(s.Right) / float64(s.All)
}

// Judge keeps the score of the stage and, on the very same episodes and with the same labels, of what it is compared with:
// the same settings without memory, and nearest prototype. One goroutine uses it at a time.
type Judge struct {
	scores []Score // of the stage, then of the rivals
	rivals []rival
}

// rival answers every episode as a stage with its settings would.
type rival struct {
	engine *stream.Engine
	stream *stream.Stream
}

// NewJudge starts the score. settings are the stage's.
func NewJudge(settings stream.Settings) (*Judge, error) {
	stage := "warm start"
	if !settings.Warm {
		stage = "the stage"
	}
	j := &Judge{scores: []Score{{Name: stage}}}
	without := settings
	without.Warm = false
	nearest := without
	nearest.Solver.Method = solver.Nearest
	for _, r := range []struct {
		name     string
		settings stream.Settings
	}{{"no memory", without}, {"nearest prototype", nearest}} {
		engine, err := stream.NewEngine(r.settings)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		j.rivals = append(j.rivals, rival{engine, stream.New("belt", r.settings)})
		j.scores = append(j.scores, Score{Name: r.name})
	}
	return j, nil
}

// Names are what is scored, the stage first.
func (j *Judge) Names() []string {
	var names []string
	for _, s := range j.scores {
		names = append(names, s.Name)
	}
	return names
}

// Judged is one item of an episode: what the rivals are asked, what the stage answered, and the truth.
type Judged struct {
	Item  stream.Item
	Label string // the stage's answer
	Truth string // "": not known; it is not scored
}

// Take scores an episode that was answered by these labels.
func (j *Judge) Take(ctx context.Context, episode []Judged, labels *stream.Labels) ([]Score, error) {
	items := make([]stream.Item, len(episode))
	answers := make([][]stream.Answer, len(j.rivals))
	for i := range episode {
		items[i] = episode[i].Item
	}
	for r := range j.rivals {
		var err error
		if answers[r], _, err = j.rivals[r].stream.Answer(ctx, j.rivals[r].engine, items, labels); err != nil {
			return nil, fmt.Errorf("%s: %w", j.scores[1+r].Name, err)
		}
	}
	for i := range episode {
		e := &episode[i]
		if e.Truth == "" || e.Item.Label != "" {
			continue
		}
		j.scores[0].count(e.Label == e.Truth)
		for r := range j.rivals {
			j.scores[1+r].count(answers[r][i].Label == e.Truth)
		}
	}
	return append([]Score(nil), j.scores...), nil
}

func (s *Score) count(right bool) {
	s.All++
	if right {
		s.Right++
	}
}
