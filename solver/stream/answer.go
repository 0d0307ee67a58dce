package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Answer labels one episode and learns from it: it gathers the labelled examples, ofSolve, answers, and
// has every part observe the episode. An episode of very many items and classes is answered as several, one
// after the other, which count as such. On an error the stream stays unchanged. labels may be nil, and so may
// e: the stream then has an engine of its own. A stream restored from an older state gets the same episodes
// again; its answers to them are the same and may be discarded.
//
// The slow part of learning, such as the metric, is left to Learn, which needs no engine.
func (s *Stream) Answer(ctx context.Context, e *Engine, items []Item, labels *taught.Labels) (
	answers []Answer, report Report, err error,
) {
	if s.state == nil {
		return nil, Report{}, fmt.Errorf("stream %s: made by neither New nor Restore", s.Name)
	}
	if e == nil {
		if s.own == nil {
			s.own = new(Engine)
		}
		e = s.own
	}
	s.Learn()
	d, err := Check(items)
	if err == nil && s.dimension != 0 && items[0].Model == s.model && d != s.dimension {
		err = fmt.Errorf("%w: row 0: dimension %d, not the stream's %d", ErrItem, d, s.dimension)
	}
	if err == nil {
		err = e.set(s)
	}
	if err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: %w", s.Name, err)
	}
	next := s.fork(&e.fork)
	defer func() { e.fork = Stream{} }()                               // the engine keeps nothing of the stream
	if model := items[0].Model; s.dimension != 0 && model != s.model { // vectors of two models are never mixed
		next.restart(fmt.Sprintf("the model changed from %q to %q", s.model, model))
	}
	if next.dimension == 0 {
		next.turn = metric.TurnOf(items[0].Vector)
	}
	next.model, next.dimension = items[0].Model, d
	if answers, report, err = next.answerAll(ctx, e, items, labels.For(s.Name)); err != nil {
		s.forgetCaches() // they may know what the first part of the episode taught
		return nil, Report{}, err
	}
	*s = *next
	return answers, report, nil
}

// mostValues bounds the items of an episode times its classes: solving it, answering and learning take up to
// ten tables with a value for each item and class.
const mostValues = 1 << 23

// errLarge says that an episode has more than mostValues.
var errLarge = errors.New("too many items and classes")

// answerAll answers items as one episode, or each half of them in turn, which often has fewer classes, too.
// After an error the stream is of no use.
func (s *Stream) answerAll(
	ctx context.Context, e *Engine, items []Item, labels *taught.ForStream,
) (answers []Answer, report Report, err error) {
	answers, report, err = s.answerOne(ctx, e, items, labels)
	if !errors.Is(err, errLarge) {
		return answers, report, err
	}
	s.detach()
	half := len(items) / 2
	if answers, report, err = s.answerAll(ctx, e, items[:half], labels); err != nil {
		return nil, Report{}, err
	}
	s.Learn()
	more, next, err := s.answerAll(ctx, e, items[half:], labels)
	if err != nil {
		return nil, Report{}, err
	}
	report.add(&next)
	e.solved = nil
	return append(answers, more...), report, nil
}

// answerOne answers items as one episode, and learns from it. After an error other than errLarge the stream
// is of no use.
func (s *Stream) answerOne(
	ctx context.Context, e *Engine, items []Item, labels *taught.ForStream,
) ([]Answer, Report, error) {
	of := &e.episode
	*of = episode{stream: s, engine: e, number: s.episode + 1, items: items, problem: &e.problem, cold: !s.settings.Warm}
	of.report = Report{Episode: s.episode + 1, Count: len(items), Notes: s.notes}
	before := *s.state
	if err := s.answer(ctx, of, labels); err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: episode %d: %w", s.Name, of.number, err)
	}
	of.obey(labels)
	if of.otherEmbedder && !teaches(items) { // only its shape is learned
		shape := s.embedder
		*s.state = before
		s.embedder = shape
	} else {
		each(s.state, func(p observer) { p.observe(of) })
		s.topic, s.lesson = of.problem.sum, of.lesson()
	}
	if s.settings.Summaries {
		of.report.Clusters = s.clusters.changed(of.number)
	}
	s.clusters.Told()
	s.notes = nil
	s.episode++
	for _, item := range items {
		if item.Position.After(s.learned) {
			s.learned = item.Position
		}
	}
	answers, report := of.answers, of.report
	*of = episode{}
	return answers, report, nil
}

// obey gives items that are examples themselves, by the key of their place or the id of their result, the examples'
// labels: an item that is answered again is what a person has called it, whatever is near it.
func (e *episode) obey(labels *taught.ForStream) {
	for i := range e.items {
		item, a := &e.items[i], &e.answers[i]
		if item.Result == "" || item.Label != "" {
			continue
		}
		class, known := labels.Label(item.ID)
		if !known {
			class, known = labels.Label(item.Result)
		}
		if !known {
			continue
		}
		if a.Unknown {
			e.report.Unknown--
		}
		*a = Answer{
			Label: labels.Called(class), Class: class, Confidence: 1, Calibrated: a.Calibrated,
			Sure: e.stream.settings.MaxWrong > 0,
		}
	}
}

// Learn completes the learning of the stream's last episode. The stream calls it before any other use.
func (s *Stream) Learn() {
	of := s.lesson
	if s.lesson = nil; of != nil {
		each(s.state, func(p learner) { p.learn(s, of) })
		lessons.Put(of)
	}
}

// answer answers an episode with the labelled classes, or with clusters. It learns nothing yet.
func (s *Stream) answer(ctx context.Context, of *episode, labels *taught.ForStream) error {
	p, items := of.problem, of.items
	skipped, err := p.gather(s, items, labels)
	if err != nil {
		return err
	}
	p.number(items)
	if len(items) > 1 && len(items)*len(p.names) > mostValues {
		return errLarge
	}
	of.relabels = p.sum != s.topic
	if s.embedder.unlike >= changeTold && (teaches(items) || of.relabels && p.resembled(items)) {
		of.report.note("embedding changed and taught since: the stream starts from its labels")
		model, d := s.model, s.dimension
		s.restart("")
		s.model, s.dimension = model, d
		return s.answer(ctx, of, labels)
	}
	if of.otherEmbedder = s.embedder.judge(p, items); of.otherEmbedder && !teaches(items) {
		s.detach() // what is learned of these items is dropped
	}
	if skipped != s.skipped {
		s.skipped = skipped
		of.report.note("%d labelled examples are of another model or dimension and were left out", skipped)
	}
	// A single class cannot tell its own items from others: until there are two, a stream that discovers classes
	// answers with its clusters.
	if len(p.names) == 0 || s.settings.Discover && len(p.names) == 1 {
		s.answerClusters(of)
		return nil
	}
	return s.answerLabelled(ctx, of)
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

func (s *Stream) answerLabelled(ctx context.Context, of *episode) error {
	p, items, report := of.problem, of.items, &of.report
	if of.rows = items; !of.cold {
		of.rows = s.earlier.before(items, p)
	}
	p.fill(s, of.rows, len(of.rows)-len(items))
	if !of.cold {
		each(s.state, func(part contributor) { part.contribute(of) })
	}
	r, err := of.solve(ctx)
	if err != nil {
		return err
	}
	if of.result = r; !of.cold {
		of.solved = r
	}
	of.engine.solved, of.engine.space = r, of.space
	report.Iterations, report.Sweeps, report.Rises = r.Iterations, r.Sweeps, r.Rises
	report.Before, report.After = r.ObjectiveBefore, r.ObjectiveAfter
	report.Warm = !of.cold && s.episode > 0

	s.weights.renew(of)
	unknown := p.unknownScores(&p.Problem, of.space, r)
	p.density = s.novelty.scores.with(items, unknown)
	of.scores = &p.density
	of.makeAnswers(unknown)
	each(s.state, func(part answerer) { part.answer(of) })
	return nil
}

// makeAnswers makes the answers of a solved episode, whose rows have these unknown scores.
func (e *episode) makeAnswers(unknown []float64) {
	s, p, items, r, report := e.stream, e.problem, e.items, e.result, &e.report
	calibrated, limit := s.calibration.fitted(), s.unknownLimit(e.scores)
	sure := s.calibration.sureLimits(p.taught, s.settings.MaxWrong)
	if sure != nil {
		report.Sure = sure.curve
	}
	e.answers = make([]Answer, len(items))
	others := make([]Alternative, 0, len(items)*min(view.MostOthers, p.K-1)) // of all items
	names, called := p.names, p.taught.Rename(p.names)
	if called != nil {
		names = called.Names
	}
	given := e.space.Given(p.labels)
	for i := range e.answers {
		a, labelled := &e.answers[i], items[i].Label != ""
		c, row, z := r.Labels[i], r.S[i*p.K:i*p.K+p.K], float32(1)
		if !labelled {
			given.Sources(i, &p.sources)
			z = limit.Confidence(s.weights.probability(&p.sources, c), unknown[i])
		}
		class := c
		if called != nil {
			c, class, row, z = called.Answer(c, row, z)
		}
		a.Label, a.Class, a.Calibrated = names[c], p.names[class], calibrated
		if labelled {
			a.Confidence, a.Sure = 1, sure != nil
			continue
		}
		a.Confidence, a.UnknownScore = float64(z), unknown[i]
		if a.Unknown = unknown[i] > limit.At; a.Unknown {
			report.Unknown++
		}
		from := len(others)
		next := view.Alternatives(row, c, a.Confidence)
		for _, other := range next.All() {
			others = append(others, Alternative{Label: names[other.Class], Confidence: other.Confidence})
		}
		if len(others) > from {
			a.Alternatives = others[from:len(others):len(others)]
		}
		if sure != nil {
			sure.judge(a)
		}
	}
}
