package demo

import (
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// recent is the number of latest items over which the running accuracy is taken.
const recent = 500

// Score counts the right answers of one method.
type Score struct {
	Name   string `json:"name"`
	Right  int64  `json:"right"`
	All    int64  `json:"all"`
	Late   int64  `json:"late"` // of the last 500
	LateOf int64  `json:"lateOf"`
	last   []bool
}

// Share is the accuracy so far.
func (s *Score) Share() float64 { return share(s.Right, s.All) }

// LateShare is the accuracy over the last 500 items.
func (s *Score) LateShare() float64 { return share(s.Late, s.LateOf) }

func share(right, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(right) / float64(all)
}

func (s *Score) count(right bool) {
	s.All++
	if s.last = append(s.last, right); right {
		s.Right++
		s.Late++
	}
	if n := len(s.last) - recent; n > 0 {
		if s.last[0] {
			s.Late--
		}
		s.last = s.last[n:]
	}
	s.LateOf = int64(len(s.last))
}

// Judge scores the stage and three rivals on the same episodes: the same settings with 3 % of the items
// labelled, the same without memory, and the nearest prototype. One goroutine uses it at a time.
type Judge struct {
	scores []Score // of the stage, then of the rivals
	rivals []rival

	Strangers, SetAside int64 // strangers so far, and how many of them the stage called unknown
}

// rival is a stream with settings of its own that answers every episode.
type rival struct {
	engine *stream.Engine
	stream *stream.Stream
	taught bool // gets the label of every 33rd item
	items  int
}

const taughtEvery = 33

// NewJudge starts the score. settings are the stage's.
func NewJudge(settings stream.Settings) *Judge {
	j := &Judge{scores: []Score{{Name: "slkstream"}}}
	settings.ReviewRate = 0 // nobody reviews the rivals' items
	without := settings
	without.Warm = false
	nearest := without
	nearest.Solver.Method = solver.Nearest
	for _, r := range []struct {
		name     string
		settings stream.Settings
		taught   bool
	}{{"3 % taught", settings, true}, {"no memory", without, false}, {"nearest prototype", nearest, false}} {
		engine := new(stream.Engine)
		j.rivals = append(j.rivals, rival{engine: engine, stream: stream.New("belt", r.settings), taught: r.taught})
		j.scores = append(j.scores, Score{Name: r.name})
	}
	return j
}

// Scores returns the scores so far, the stage's first.
func (j *Judge) Scores() []Score { return slices.Clone(j.scores) }

// Judged is one item of an episode with the stage's answer and the true label.
type Judged struct {
	Item     stream.Item
	Label    string // the stage's answer
	Unknown  bool   // the stage's too
	Truth    string // "": not known; it is not scored
	Stranger bool
}

// Take scores an episode that was answered by these labels.
func (j *Judge) Take(ctx context.Context, episode []Judged, labels *stream.Labels) ([]Score, error) {
	for i := range episode {
		e := &episode[i]
		if e.Stranger {
			j.Strangers++
			if e.Unknown {
				j.SetAside++
			}
		}
		if e.Truth != "" && e.Item.Label == "" {
			j.scores[0].count(e.Label == e.Truth)
		}
	}
	for r := range j.rivals {
		if err := j.rivals[r].take(ctx, episode, labels, &j.scores[1+r]); err != nil {
			return nil, fmt.Errorf("%s: %w", j.scores[1+r].Name, err)
		}
	}
	return j.Scores(), nil
}

func (r *rival) take(ctx context.Context, episode []Judged, labels *stream.Labels, score *Score) error {
	items := make([]stream.Item, len(episode))
	for i := range episode {
		items[i] = episode[i].Item
		if r.items++; r.taught && r.items%taughtEvery == 0 && items[i].Label == "" {
			items[i].Label = episode[i].Truth
		}
	}
	answers, _, err := r.stream.Answer(ctx, r.engine, items, labels)
	if err != nil {
		return err
	}
	for i := range episode {
		if truth := episode[i].Truth; truth != "" && items[i].Label == "" {
			score.count(answers[i].Label == truth)
		}
	}
	return nil
}
