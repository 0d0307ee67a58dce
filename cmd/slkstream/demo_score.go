package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// score observes the stage, scores its episodes, prints a line for each and shows them on the page.
type score struct {
	judge    *demo.Judge
	page     *web.Page
	call     *call
	episodes chan scored
	started  time.Time
	last     *demo.Board
}

// scored is an episode that waits for the judge.
type scored struct {
	camera          string
	number, unknown int
	before, after   float64 // of the objective
	took            time.Duration
	judged          []demo.Judged
	labels          *taught.Labels
}

func newScore(page *web.Page, c *call) *score {
	const waiting = 64
	return &score{judge: demo.NewJudge(), page: page, call: c, episodes: make(chan scored, waiting), started: time.Now()}
}

// Answered implements answering.Observer. If too many episodes wait for the judge, the episode is not
// scored.
func (s *score) Answered(a *answering.Observed) {
	e := scored{
		camera: a.Episode.Key.Name, number: int(a.Report.Episode), unknown: a.Unknown, took: a.Took,
		before: a.Report.Before, after: a.Report.After, labels: a.Labels,
	}
	for i := range a.Episode.Items {
		item := &a.Episode.Items[i]
		about := demo.About(item.Attributes)
		e.judged = append(e.judged, demo.Judged{
			Label: a.Results[i].Label, Unknown: a.Results[i].Unknown, Truth: about.Truth, Stranger: about.Stranger,
			Item: stream.Item{
				ID: item.Name(), Vector: slices.Clone(item.Vector), Label: item.Label, Model: item.Model,
				Position: stream.Position(item.Source.Position()),
			},
		})
	}
	select {
	case s.episodes <- e:
	default:
		s.call.Log.Warn("the score cannot keep up: an episode goes unscored", "episode", a.Report.Episode)
	}
}

func (s *score) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-s.episodes:
			board := s.judge.Take(e.camera, e.judged, e.labels)
			_, row := s.line(&e, board)
			if _, err := fmt.Fprintln(s.call.Out, row); err != nil {
				return err
			}
			s.page.Score(board)
			s.last = &board
		}
	}
}

// line formats the scores of one episode, under their heading.
func (s *score) line(e *scored, board demo.Board) (heading, row string) {
	right, all := board.All[0].Right, board.All[0].All // of the items that have a name
	if s.last != nil {
		right, all = right-s.last.All[0].Right, all-s.last.All[0].All
	}
	of := []any{"camera", 8, e.camera, "episode", 7, e.number, "right", 7, fmt.Sprintf("%d/%d", right, all)}
	for i := range board.All {
		name, late := board.All[i].Name, board.All[i].LateShare()
		of = append(of, name, max(8, len(name)), fmt.Sprintf("%.1f %%", 100*late))
	}
	of = append(of, "unknown", 7, e.unknown, "objective", 16, fmt.Sprintf("%.1f -> %.1f", e.before, e.after),
		"solved in", 9, fmt.Sprintf("%.1f ms", e.took.Seconds()*1000))
	return cells(of...)
}

// foot formats the totals.
func (s *score) foot() string {
	if s.last == nil {
		return "\nno episode was answered\n"
	}
	var shares []string
	for i := range s.last.All {
		score := &s.last.All[i]
		shares = append(shares, fmt.Sprintf("%s %.1f %%", score.Name, 100*score.Share()))
	}
	return fmt.Sprintf("\n%d pictures in %.0f s. Right so far: %s. Strangers set aside: %d of %d\n",
		s.last.All[0].All,
		time.Since(s.started).Seconds(), strings.Join(shares, ", "), s.judge.SetAside, s.judge.Strangers)
}
