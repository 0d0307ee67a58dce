package stream

import (
	"context"
	"fmt"
	"slices"
)

// Answer labels one episode and learns from it: it gathers the labelled examples, solves, answers, and
// has every part observe the episode. On an error the stream stays unchanged. labels may be nil. A
// stream restored from an older state gets the same episodes again; its answers to them are the same and
// may be discarded.
//
// The slow part of learning, such as the metric, is left to Learn.
func (s *Stream) Answer(ctx context.Context, e *Engine, items []Item, labels *Labels) (
	answers []Answer, report Report, err error,
) {
	s.Learn()
	e.unlearned.Learn()
	d, err := checkItems(items)
	if err == nil && s.dimension != 0 && items[0].Model == s.model && d != s.dimension {
		err = fmt.Errorf("%w: row 0: dimension %d, not the stream's %d", ErrItem, d, s.dimension)
	}
	if err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: %w", s.Name, err)
	}
	// A copy answers the episode and replaces the stream once nothing can fail any more: parts change data that
	// they hold by reference only in observe.
	next := *s
	if model := items[0].Model; s.dimension != 0 && model != s.model { // vectors of two models are never mixed
		next = *s.restarted(fmt.Sprintf("the model changed from %q to %q", s.model, model))
	}
	next.model, next.dimension = items[0].Model, d
	done := &answered{
		engine: e, number: s.episode + 1, items: items, problem: &e.problem,
		report: &Report{Episode: s.episode + 1, Count: len(items), Notes: next.notes},
	}
	if answers, err = next.answer(ctx, e, done, labels.of(s.Name)); err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: episode %d: %w", s.Name, s.episode+1, err)
	}
	*s = next
	s.unlearned, e.unlearned = done, s
	return answers, *done.report, nil
}

// Learn completes the learning of the stream's last episode. The stream and the engine call it before any
// other use; callers must call it before they hand either to another goroutine.
func (s *Stream) Learn() {
	if s == nil || s.unlearned == nil {
		return
	}
	done := s.unlearned
	s.unlearned, done.engine.unlearned = nil, nil
	s.metric.learn(s, done)
	s.novelty.learn(s, done)
}

func (s *Stream) answer(ctx context.Context, e *Engine, done *answered, labels *followedLabels) (
	answers []Answer, err error,
) {
	p, items, report := done.problem, done.items, done.report
	before := *s
	skipped, err := p.gather(s, items, labels)
	if err != nil {
		return nil, err
	}
	p.number(items)
	if s.shape.breaks >= shapeTold && p.taughtNow(items, p.sum != s.topic) {
		report.note("embedding changed and taught since: the stream starts from its labels")
		model, d := s.model, s.dimension
		*s = *s.restarted("")
		s.model, s.dimension = model, d
		return s.answer(ctx, e, done, labels)
	}
	broken := s.shape.judge(p, items)
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
	// A single class cannot tell its own items from others: until there are two, a stream that discovers classes
	// answers with its clusters.
	if len(p.names) == 0 || s.settings.Discover && len(p.names) == 1 {
		answers = s.answerClusters(e, done)
	} else {
		answers, err = s.answerLabelled(ctx, e, done)
	}
	if err != nil {
		return nil, err
	}
	if broken {
		s.shape.distrust(answers, items, p, report)
	}
	if broken && !teaches(items) {
		before.shape = s.shape
		*s = before
	} else {
		for _, part := range s.parts() {
			part.observe(done)
		}
		s.topic = p.sum
	}
	s.notes = nil
	s.episode++
	for _, item := range items {
		if item.Position.After(s.learned) {
			s.learned = item.Position
		}
	}
	return answers, nil
}

// teaches reports whether any item carries a label.
func teaches(items []Item) bool {
	return slices.ContainsFunc(items, func(item Item) bool { return item.Label != "" })
}

// note adds a message for the user to the next report.
func (s *Stream) note(format string, args ...any) {
	s.notes = append(slices.Clip(s.notes), fmt.Sprintf(format, args...))
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(slices.Clip(r.Notes), fmt.Sprintf(format, args...))
}

func (s *Stream) answerLabelled(ctx context.Context, e *Engine, done *answered) ([]Answer, error) {
	p, items, report := done.problem, done.items, done.report
	if !done.cold {
		s.metric.join(s)
	}
	p.fill(s, items)
	if !done.cold && s.episode > 0 {
		var err error
		if done.tested, err = s.leaveOut(ctx, e, items); err != nil {
			return nil, err
		}
	}
	if tested := done.fair(); s.settings.Time && len(tested) > 0 {
		p.Proportions = s.proportions.corrected(p.names, p.numbers, tested)
	}
	p.rejected = p.against(s, items)
	p.Evidence = p.rejected
	space, err := e.labelled.Embed(&p.Problem)
	if err != nil {
		return nil, err
	}
	s.relate(p, space, items)
	if _, err = space.Graph(ctx); err != nil {
		return nil, err
	}
	r, err := space.Descend(ctx)
	if err != nil {
		return nil, err
	}
	e.solved = r
	report.Iterations, report.Sweeps, report.Rises = r.Iterations, r.Sweeps, r.Rises
	report.Before, report.After = r.ObjectiveBefore, r.ObjectiveAfter
	report.Warm = !done.cold && s.episode > 0
	report.PriorFraction = s.priorFraction(p)

	fit := s.calibration.fit(p.called)
	unknown := unknownScores(&p.Problem, r, p.nobody())
	scores := s.novelty.scores.with(items, unknown)
	limit := s.unknownLimit(scores)
	sure := s.calibration.sureLimits(p.called, s.settings.MaxWrong)
	answers := make([]Answer, len(items))
	others := make([]Alternative, 0, len(items)*min(mostAlternatives, p.K-1)) // of all items
	names, called := p.names, p.called.calledClasses(p.names)
	if called != nil {
		names = called.names
	}
	for i := range answers {
		c, row, z := r.Labels[i], r.S[i*p.K:i*p.K+p.K], min(r.Confidence[i], float32(limit.sure(unknown[i])))
		if called != nil {
			c, row, z = called.answer(c, row, z)
		}
		answers[i] = Answer{
			Label: names[c], Confidence: fit.confidence(float64(z)), Calibrated: fit.fitted, UnknownScore: unknown[i],
		}
		if items[i].Label != "" {
			answers[i].Confidence, answers[i].UnknownScore, answers[i].Sure = 1, 0, sure != nil
			continue
		}
		from := len(others)
		others = alternatives(others, names, row, c, answers[i].Confidence)
		if len(others) > from {
			answers[i].Alternatives = others[from:len(others):len(others)]
		}
		if answers[i].UnknownScore > limit.at {
			answers[i].Unknown = true
			report.Unknown++
		}
		if sure != nil {
			sure.judge(&answers[i], float64(z), fit)
		}
	}
	if s.settings.Discover && report.Unknown > 0 && s.shape.breaks == 0 {
		s.discover(p.called, items, answers, report)
	}
	if !done.cold {
		done.credit = s.review.ask(s.settings.ReviewRate, r, items, answers)
		done.solved, done.scores = r, scores
	}
	return answers, nil
}

// mostAlternatives bounds the alternatives of an answer.
const mostAlternatives = 3

// alternatives appends the next best labels to out, the best first. They share 1 - confidence in proportion
// to S. Each is capped at the answer's confidence; what a cap cuts off goes to no label.
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
		out = append(out, Alternative{Label: names[c], Confidence: min(confidence, part*(1-confidence))})
	}
	return out
}
