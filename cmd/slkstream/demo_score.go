package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/solver/stream"
)

// score observes the stage, scores its episodes, prints a line for each and shows them on the page.
type score struct {
	judge    *demo.Judge
	page     *web.Page
	call     *call
	episodes chan scored
	started  time.Time
	last     []demo.Score
}

// scored is an episode that waits for the judge.
type scored struct {
	number, unknown int
	before, after   float64 // of the objective
	took            time.Duration
	judged          []demo.Judged
	labels          *stream.Labels
}

func newScore(judge *demo.Judge, page *web.Page, c *call) *score {
	const waiting = 64
	return &score{judge: judge, page: page, call: c, episodes: make(chan scored, waiting), started: time.Now()}
}

// Answered implements pipeline.Observer. If too many episodes wait for the judge, the episode is scored for
// none of the compared solvers.
func (s *score) Answered(a *pipeline.Answered) {
	e := scored{
		number: int(a.Report.Episode), unknown: a.Unknown, took: a.Took,
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
			scores, err := s.judge.Take(ctx, e.judged, e.labels)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("score: %w", err)
			}
			_, row := s.line(&e, scores)
			if _, err := fmt.Fprintln(s.call.Out, row); err != nil {
				return err
			}
			s.page.Score(scores)
			s.last = scores
		}
	}
}

// line formats the scores of one episode, under their heading.
func (s *score) line(e *scored, scores []demo.Score) (heading, row string) {
	right, all := scores[0].Right, scores[0].All // of the items that are no strangers
	if s.last != nil {
		right, all = right-s.last[0].Right, all-s.last[0].All
	}
	of := []any{"episode", 7, e.number, "right", 7, fmt.Sprintf("%d/%d", right, all)}
	for i := range scores {
		name, late := scores[i].Name, scores[i].LateShare()
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
	for i := range s.last {
		shares = append(shares, fmt.Sprintf("%s %.1f %%", s.last[i].Name, 100*s.last[i].Share()))
	}
	return fmt.Sprintf("\n%d pictures in %.0f s. Right so far: %s. Strangers set aside: %d of %d\n",
		s.last[0].All,
		time.Since(s.started).Seconds(), strings.Join(shares, ", "), s.judge.SetAside, s.judge.Strangers)
}
