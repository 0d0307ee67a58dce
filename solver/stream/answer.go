package stream

import (
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// Answer labels one episode and learns from it: gather what is labelled, solve, answer, remember. On an error nothing is
// learned. A stream whose state is older than what was handed over is given the same episodes again, and those answers are
// thrown away: they are the same ones.
func (s *Stream) Answer(ctx context.Context, e *Engine, items []Item, labels *Labels) ([]Answer, Report, error) {
	if err := s.accept(items); err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: %w", s.Name, err)
	}
	s.follow(labels)
	p := &e.problem
	skipped, err := p.gather(s, items, labels)
	if err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: episode %d: %w", s.Name, s.episode+1, err)
	}
	p.number(items)
	report := Report{Episode: s.episode + 1, Count: len(items)}
	if skipped > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%d labelled examples are of another model or dimension and were left out", skipped))
	}
	var answers []Answer
	changed := p.sum != s.seen
	if changed && s.episode > 0 {
		s.stopPrior()
	}
	// One class alone says nothing of what is not of it: until there are two, a stream that discovers goes by its clusters.
	if len(p.names) == 0 || s.settings.Discover && len(p.names) == 1 {
		answers, err = s.answerClusters(ctx, e, items, &report)
	} else {
		answers, err = s.answerLabelled(ctx, e, items, &report)
	}
	if err != nil {
		return nil, Report{}, fmt.Errorf("stream %s: episode %d: %w", s.Name, s.episode+1, err)
	}
	s.nameClusters(p, items, changed, &report)
	if s.settings.Warm {
		s.keepTaught(items, &report)
	}
	s.seen = p.sum
	s.episode++
	for _, item := range items {
		if item.Place.After(s.learned) {
			s.learned = item.Place
		}
	}
	report.Notes, s.notes = s.notes, nil
	return answers, report, nil
}

// accept checks the items and starts the stream again where they come from another embedder: numbers of two models are
// never mixed.
func (s *Stream) accept(items []Item) error {
	d, err := checkItems(items)
	if err != nil {
		return err
	}
	model := items[0].Model
	if s.dimension != 0 && model != s.model {
		s.fresh(fmt.Sprintf("the model changed from %q to %q", s.model, model))
	}
	if s.dimension != 0 && d != s.dimension {
		return fmt.Errorf("%w: row 0: dimension %d, not the stream's %d", ErrItem, d, s.dimension)
	}
	s.model, s.dimension = model, d
	return nil
}

// follow takes from the stream what the labels topic corrects or takes back.
func (s *Stream) follow(labels *Labels) {
	if labels == nil {
		return
	}
	everyone, own := labels.of(s.Name)
	label := func(id string) (string, bool) {
		if l, ok := own.label(id); ok {
			return l, true
		}
		return everyone.label(id)
	}
	for _, name := range s.names() {
		for i := 0; i < len(s.classes[name].examples); i++ {
			id := s.classes[name].examples[i].id
			if _, corrected := label(id); corrected || labels.forgotten(id) {
				k := s.own(name)
				k.examples = slices.Delete(k.examples, i, i+1)
				i--
			}
		}
	}
	s.verdicts = slices.DeleteFunc(s.verdicts, func(v verdict) bool {
		_, known := label(v.id)
		return labels.forgotten(v.id) || v.topic && !known
	})
	for i := range s.verdicts {
		if l, ok := label(s.verdicts[i].id); ok {
			s.verdicts[i].label = l
		}
	}
}

func (s *Stream) answerLabelled(ctx context.Context, e *Engine, items []Item, report *Report) ([]Answer, error) {
	p := &e.problem
	p.fill(s, items)
	var tested []verdict
	if s.settings.Warm && s.episode > 0 {
		var err error
		if tested, err = s.leaveOut(ctx, e, items); err != nil {
			return nil, err
		}
	}
	r, err := e.labelled.Solve(ctx, &p.Problem)
	if err != nil {
		return nil, err
	}
	e.solved = r
	report.Iterations, report.Sweeps, report.Rises = r.Iterations, r.Sweeps, r.Rises
	report.Before, report.After = r.ObjectiveBefore, r.ObjectiveAfter
	report.Warm = s.settings.Warm && s.episode > 0
	report.PriorShare = p.priorShare(s.settings.Solver.WS)

	fit := s.calibration()
	scores := novelty(&p.Problem, r)
	seen := s.spread.with(r, items, scores)
	limit, limited := s.unknownLimit(seen)
	answers := make([]Answer, len(items))
	for i := range answers {
		c := r.Labels[i]
		answers[i] = Answer{Label: p.names[c], Confidence: fit.confidence(float64(r.Confidence[i])), Calibrated: fit.fitted, UnknownScore: scores[i]}
		if items[i].Label != "" {
			answers[i].Confidence, answers[i].UnknownScore = 1, 0
			continue
		}
		answers[i].Alternatives = alternatives(p.names, r.S[i*p.K:i*p.K+p.K], c, answers[i].Confidence)
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
	if s.settings.Warm {
		s.review(r, items, answers)
		s.spread = *seen
		s.learn(p, r, items, tested, report)
	}
	return answers, nil
}

// alternatives are the next best labels; they share what the answer's confidence leaves, in proportion to S.
func alternatives(names []string, row []float32, answer int32, confidence float64) []Alternative {
	const most = 3
	var out []Alternative
	rest := 1 - float64(row[answer])
	for range most {
		best := int32(-1)
		for c, v := range row {
			taken := int32(c) == answer || v < 1e-4
			for _, a := range out {
				taken = taken || a.Label == names[c]
			}
			if !taken && (best < 0 || v > row[best]) {
				best = int32(c)
			}
		}
		if best < 0 {
			break
		}
		share := float64(row[best]) / max(rest, float64(row[best]))
		out = append(out, Alternative{Label: names[best], Confidence: share * (1 - confidence)})
	}
	return out
}

// stopPrior turns learned prototypes off for good: labels came after the start, and a prototype drawn from the stream's own
// answers only holds back what a person now says better.
func (s *Stream) stopPrior() {
	if s.taught {
		return
	}
	s.taught = true
	for _, name := range s.names() {
		if s.classes[name].mean != nil {
			k := s.own(name)
			k.mean, k.mass = nil, 0
		}
	}
}

// learn updates everything a stream remembers of a solved episode.
func (s *Stream) learn(p *problem, r *solver.Result, items []Item, tested []verdict, report *Report) {
	s.updateClasses(p, r, items, report)
	s.learnMetric(p, r)
	s.verdicts = append(s.verdicts, tested...)
	if over := len(s.verdicts) - verdictsKept; over > 0 {
		s.verdicts = slices.Delete(s.verdicts, 0, over)
	}
	s.rememberTopic(p)
}

// keepTaught makes the episode's taught items examples of the stream.
func (s *Stream) keepTaught(items []Item, report *Report) {
	for i, item := range items {
		if item.Label == "" {
			continue
		}
		if dropped := s.keep(item.Label, example{id: s.idOf(items, i), vector: slices.Clone(item.Vector), episode: s.episode + 1}); dropped != "" {
			report.Dropped = append(report.Dropped, dropped)
		}
		if s.episode > 0 {
			s.stopPrior()
		}
	}
}

// idOf names an item; one without a name of its own is named by where it came, so that it can still be kept and shown.
func (s *Stream) idOf(items []Item, i int) string {
	if items[i].ID != "" {
		return items[i].ID
	}
	return fmt.Sprintf("episode %d item %d", s.episode+1, i)
}

// updateClasses moves prototypes and proportions and settles which classes there are. Only answers that pass the gate move a
// prototype: learning from every one ruins a stream whose classes do not repeat.
func (s *Stream) updateClasses(p *problem, r *solver.Result, items []Item, report *Report) {
	weights := make([]float32, len(items)*p.K) // S of the admitted, 0 of the others
	for i := range items {
		switch {
		case items[i].Label != "":
		case float64(r.Confidence[i]) >= s.settings.Gate && float64(r.Agreement[i]) >= s.settings.Agree:
			copy(weights[i*p.K:i*p.K+p.K], r.S[i*p.K:])
			report.Admitted++
		default:
			report.Refused++
		}
	}
	for _, name := range p.names {
		if s.classes[name] == nil && s.episode > 0 {
			report.Events = append(report.Events, Event{Kind: "born", Class: name})
		}
	}
	s.learnProportions(p, r, len(items))
	if !s.taught {
		s.learnPrototypes(p, r, weights, len(items))
	}
	for _, name := range s.names() {
		if !p.labelled(s, name) {
			delete(s.classes, name)
			report.Events = append(report.Events, Event{Kind: "retired", Class: name})
		}
	}
}

// learnPrototypes takes items into the prototypes, each with its weight for every class.
func (s *Stream) learnPrototypes(p *problem, r *solver.Result, weights []float32, items int) {
	sums := make([]float32, p.K*p.D)
	kernel.Accumulate(sums, weights, r.Z, items, p.K, p.D)
	for c, name := range p.names {
		var mass float64
		for i := range items {
			mass += float64(weights[i*p.K+c])
		}
		if mass < 1e-6 {
			continue
		}
		k := s.own(name)
		if k.mean == nil {
			k.mean = make([]float32, p.D)
		}
		kernel.Scale(float32(k.mass/(k.mass+mass)), k.mean)
		kernel.Axpy(float32(1/(k.mass+mass)), sums[c*p.D:c*p.D+p.D], k.mean)
		k.mass = min(s.settings.Mass, k.mass+mass)
	}
}
