package stream

import (
	"context"
	"fmt"
	"slices"
)

// Answer labels one episode and learns from it: gather what is labelled, solve, answer, and every part
// observes. On an error nothing is learned and nothing forgotten: the stream is as it was. labels may be
// nil. A stream whose state is older than what was handed over is given the same episodes again, and those
// answers are thrown away: they are the same ones.
func (s *Stream) Answer(ctx context.Context, e *Engine, items []Item, labels *Labels) ([]Answer, Report, error) {
	answers, report, learn, err := s.AnswerAhead(ctx, e, items, labels)
	if err == nil {
		learn()
	}
	return answers, report, err
}

// AnswerAhead is Answer for who wants the answers before what takes longest to learn: the metric. learn,
// nil with an error, learns that, and has to be called before the stream or the engine is used for anything
// else.
func (s *Stream) AnswerAhead(ctx context.Context, e *Engine, items []Item, labels *Labels) (
	answers []Answer, report Report, learn func(), err error,
) {
	d, err := checkItems(items)
	if err == nil && s.dimension != 0 && items[0].Model == s.model && d != s.dimension {
		err = fmt.Errorf("%w: row 0: dimension %d, not the stream's %d", ErrItem, d, s.dimension)
	}
	if err != nil {
		return nil, Report{}, nil, fmt.Errorf("stream %s: %w", s.Name, err)
	}
	// The episode is answered by a copy, which takes the stream's place once nothing can fail any more: what
	// the parts hold by reference they change in observe only.
	next := *s
	if model := items[0].Model; s.dimension != 0 && model != s.model { // numbers of two models are never mixed
		next = *s.restarted(fmt.Sprintf("the model changed from %q to %q", s.model, model))
	}
	next.model, next.dimension = items[0].Model, d
	done := &answered{
		number: s.episode + 1, items: items, problem: &e.problem,
		report: &Report{Episode: s.episode + 1, Count: len(items), Notes: next.notes},
	}
	if answers, err = next.answer(ctx, e, done, labels.of(s.Name)); err != nil {
		return nil, Report{}, nil, fmt.Errorf("stream %s: episode %d: %w", s.Name, s.episode+1, err)
	}
	*s = next
	return answers, *done.report, func() { s.metric.learn(s, done) }, nil
}

func (s *Stream) answer(ctx context.Context, e *Engine, done *answered, labels *followedLabels) (
	answers []Answer, err error,
) {
	p, items, report := done.problem, done.items, done.report
	skipped, err := p.gather(s, items, labels)
	if err != nil {
		return nil, err
	}
	p.number(items)
	if skipped > 0 {
		report.note("%d labelled examples are of another model or dimension and were left out", skipped)
	}
	done.stream, done.relabels, done.cold = s, p.sum != s.topic, !s.settings.Warm
	if done.relabels && s.episode > 0 {
		if s.settings.Time && s.calibration.added(p, s.topic) {
			s.prototypes.closed = true
		} else {
			s.prototypes.stop()
		}
	}
	s.calibration.follow(labels)
	// One class alone says nothing of what is not of it: until there are two, a stream that discovers goes by
	// its clusters.
	if len(p.names) == 0 || s.settings.Discover && len(p.names) == 1 {
		answers, err = s.answerClusters(ctx, e, done)
	} else {
		answers, err = s.answerLabelled(ctx, e, done, labels)
	}
	if err != nil {
		return nil, err
	}
	for _, part := range s.parts() {
		part.observe(done)
	}
	s.topic, s.notes = p.sum, nil
	s.episode++
	for _, item := range items {
		if item.Position.After(s.learned) {
			s.learned = item.Position
		}
	}
	return answers, nil
}

// note adds what a person should know to the next report.
func (s *Stream) note(format string, args ...any) {
	s.notes = append(slices.Clip(s.notes), fmt.Sprintf(format, args...))
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(slices.Clip(r.Notes), fmt.Sprintf(format, args...))
}

func (s *Stream) answerLabelled(ctx context.Context, e *Engine, done *answered, labels *followedLabels) ([]Answer, error) {
	p, items, report := done.problem, done.items, done.report
	if !done.cold {
		s.metric.bringIn(s)
	}
	p.fill(s, items)
	if !done.cold && s.episode > 0 {
		var err error
		if done.tested, err = s.leaveOut(ctx, e, items); err != nil {
			return nil, err
		}
	}
	if s.settings.Time && len(done.tested) > 0 {
		p.Proportions = s.proportions.corrected(p.names, p.numbers, done.tested)
	}
	p.BeforeGraph = s.relation(p, items, labels)
	r, err := e.labelled.Solve(ctx, &p.Problem)
	if err != nil {
		return nil, err
	}
	e.solved = r
	report.Iterations, report.Sweeps, report.Rises = r.Iterations, r.Sweeps, r.Rises
	report.Before, report.After = r.ObjectiveBefore, r.ObjectiveAfter
	report.Warm = !done.cold && s.episode > 0
	report.PriorFraction = s.priorFraction(p)

	fit := s.calibration.fit(s.settings.Time)
	unknown := unknownScores(&p.Problem, r, p.nobody())
	scores := s.novelty.scores.with(r, items, unknown)
	limit, limited := s.unknownLimit(scores)
	answers := make([]Answer, len(items))
	others := make([]Alternative, 0, len(items)*min(mostAlternatives, p.K-1)) // of all items
	for i := range answers {
		c := r.Labels[i]
		answers[i] = Answer{Label: p.names[c], Confidence: fit.confidence(float64(r.Confidence[i])), Calibrated: fit.fitted, UnknownScore: unknown[i]}
		if items[i].Label != "" {
			answers[i].Confidence, answers[i].UnknownScore = 1, 0
			continue
		}
		from := len(others)
		others = alternatives(others, p.names, r.S[i*p.K:i*p.K+p.K], c, answers[i].Confidence)
		if len(others) > from {
			answers[i].Alternatives = others[from:len(others):len(others)]
		}
		if limited && answers[i].UnknownScore > limit {
			answers[i].Unknown = true
			report.Unknown++
		}
	}
	if s.settings.Discover && report.Unknown > 0 {
		if err := s.discover(ctx, e, items, answers, report); err != nil {
			return nil, err
		}
	}
	if !done.cold {
		done.credit = s.review.ask(s.settings.ReviewRate, r, items, answers)
		done.solved, done.scores = r, scores
	}
	return answers, nil
}

// mostAlternatives are given with an answer at most.
const mostAlternatives = 3

// alternatives appends the next best labels to out, the best first; among them they have what the answer's
// confidence leaves, in proportion to S.
func alternatives(out []Alternative, names []string, row []float32, answer int32, confidence float64) []Alternative {
	var best [mostAlternatives]int
	count := 0
	for c, v := range row {
		if v < 1e-4 || int32(c) == answer {
			continue
		}
		at := count
		for at > 0 && v > row[best[at-1]] {
			at--
		}
		if at == mostAlternatives {
			continue
		}
		count = min(count+1, mostAlternatives)
		copy(best[at+1:count], best[at:])
		best[at] = c
	}
	rest := 1 - float64(row[answer])
	for _, c := range best[:count] {
		part := float64(row[c]) / max(rest, float64(row[c]))
		out = append(out, Alternative{Label: names[c], Confidence: part * (1 - confidence)})
	}
	return out
}
