package stream

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/slkstream/slkstream/solver/stream/internal/piece"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// verdictsKept bounds the held-out answers kept, the newest.
const verdictsKept = 512

// testedAtOnce bounds the examples of the labels topic that one episode answers as unlabelled points.
const testedAtOnce = 16

// calibration holds the stream's answers to labelled items, given without their labels. They show how far its
// confidence can be trusted.
type calibration struct {
	answers []verdict       // oldest first
	tested  map[uint64]bool // sums of the stream's own examples on the labels topic when that last changed
}

// verdict is the stream's answer to a labelled item, given without the item's label.
type verdict struct {
	id        string
	label     string  // the item's
	predicted string  // the stream's
	z         float32 // confidence before calibration
	score     float32 // unknown score; 0 of a copy of a labelled item, which says nothing of others
	topic     bool    // the item is an example of the labels topic
}

// contribute applies the labels topic's corrections and drops answers to items that it withdraws.
func (c *calibration) contribute(e *episode) {
	labels, answers := e.problem.taught, make([]verdict, 0, len(c.answers))
	for _, a := range c.answers {
		label, known := labels.Label(a.id)
		if labels.Forgotten(a.id) || a.topic && !known {
			continue
		}
		if known {
			a.label = label
		}
		answers = append(answers, a)
	}
	c.answers = answers
}

func (c *calibration) observe(e *episode) {
	if e.solved == nil {
		return
	}
	before := doubtful(c.score())
	c.answers = append(c.answers, e.tested...)
	if over := len(c.answers) - verdictsKept; over > 0 {
		c.answers = slices.Delete(c.answers, 0, over)
	}
	r := &e.report
	r.LabelledRight, r.Labelled = c.score()
	if r.Doubtful = doubtful(r.LabelledRight, r.Labelled); r.Doubtful != before {
		kind := "trusted"
		if r.Doubtful {
			kind = "doubtful"
		}
		r.Events = append(r.Events, Event{Kind: kind})
	}
	if r.Doubtful && (!before || e.number%doubtfulEvery == 0) {
		r.note("of the last %d items that a person labelled %d were answered right: the stream looks unlike its labels; "+
			"teach it some of its own items", r.Labelled, r.LabelledRight)
	}
	if !e.relabels && c.tested != nil {
		return
	}
	c.tested = map[uint64]bool{}
	for _, x := range e.problem.sets[0].Entries {
		c.tested[x.Sum] = true
	}
}

// A stream is doubtful if fewer than half of its newest held-out answers are right, of at least
// enough. It is reported at once, and again in each doubtfulEvery-th episode.
const (
	doubtfulNewest = 100
	doubtfulEvery  = 10
)

func doubtful(right, all int) bool { return all >= enough && 2*right < all }

// score counts the right answers among the doubtfulNewest newest held-out ones.
func (c *calibration) score() (right, all int) {
	for _, a := range c.answers[max(0, len(c.answers)-doubtfulNewest):] {
		if all++; a.predicted == a.label {
			right++
		}
	}
	return right, all
}

// scores lists the unknown scores of the held-out answers to items of known classes, ascending.
func (c *calibration) scores() (scores []float32) {
	for _, a := range c.answers {
		if a.score > 0 && a.label != Nobody {
			scores = append(scores, a.score)
		}
	}
	slices.Sort(scores)
	return scores
}

func (c *calibration) detach() { c.answers = slices.Clone(c.answers) }

func (c *calibration) reset(class string) bool {
	c.answers = slices.DeleteFunc(c.answers, func(a verdict) bool { return a.label == class })
	return false
}

func (c *calibration) bytes(int) int { return overhead * len(c.answers) }

func (c *calibration) fields(f *piece.Fields) {
	if f.Kind != "head" {
		return
	}
	piece.List(f, piece.Verdict, &c.answers, func(f *piece.Fields, field int, a *verdict) { f.Group(field, a.fields) })
	tested := slices.Sorted(maps.Keys(c.tested))
	piece.List(f, piece.Topic, &tested, piece.Integer[uint64])
	if !f.Writes && len(tested) > 0 {
		c.tested = map[uint64]bool{}
		for _, sum := range tested {
			c.tested[sum] = true
		}
	}
}

func (a *verdict) fields(f *piece.Fields) {
	piece.Text(f, piece.ID, &a.id)
	piece.Text(f, piece.Label, &a.label)
	piece.Text(f, piece.Predicted, &a.predicted)
	piece.Number(f, piece.Confidence, &a.z)
	piece.Number(f, piece.Score, &a.score)
	piece.Flag(f, piece.Topic, &a.topic)
}

// untested lists the stream's own examples on the labels topic that are new since the last episode and take
// part in this one, in the order of their ids, at most testedAtOnce.
func (c *calibration) untested(p *problem) (out []*taught.Entry) {
	for e := range p.taught.Own.All() {
		if _, seen := p.sets[0].Row(e); seen && !c.tested[e.Sum] && len(out) < testedAtOnce {
			out = append(out, e)
		}
	}
	return out
}

// fitted reports whether enough items were answered before their label came for the confidence to rest on them.
func (c *calibration) fitted() bool { return len(c.answers) >= enough }

// sureDoubt bounds the probability that a limit lets more wrong answers through than asked: one
// stream in ten.
const sureDoubt = .1

// sureLimits are the confidences from which answers count as sure: of each class that
// has enough held-out answers of its own, and pooled over all for the others. nil: not asked for.
type sureLimits struct {
	of     map[string]float64
	pooled float64
	curve  []SurePoint
}

// SurePoint is a part of the held-out answers, the surest ones: how large it is, and how much of it is wrong,
// both as fractions.
type SurePoint struct{ Share, Wrong float64 }

const surePoints = 50 // of a curve

// sureCurve returns the parts of the held-out answers from the surest alone to all. answers are the surest
// first.
func sureCurve(answers []verdict, labels *taught.ForStream) []SurePoint {
	out := make([]SurePoint, 0, min(len(answers), surePoints))
	wrong := 0
	for i := range answers {
		if !labels.Alike(answers[i].predicted, answers[i].label) {
			wrong++
		}
		if n := i + 1; n*surePoints/len(answers) > i*surePoints/len(answers) {
			out = append(out, SurePoint{float64(n) / float64(len(answers)), float64(wrong) / float64(n)})
		}
	}
	return out
}

// sureLimits returns the limits at which no more than a share of the sure answers are wrong, according to
// the held-out answers.
func (c *calibration) sureLimits(labels *taught.ForStream, share float64) *sureLimits {
	if share == 0 {
		return nil
	}
	answers := slices.Clone(c.answers)
	slices.SortStableFunc(answers, func(a, b verdict) int { return cmp.Compare(b.z, a.z) })
	enough := EnoughLabels(share)
	count := map[string]int{}
	for i := range answers {
		count[labels.Called(answers[i].predicted)]++
	}
	out := &sureLimits{
		of: map[string]float64{}, pooled: sureFrom(answers, labels, share, enough),
		curve: sureCurve(answers, labels),
	}
	for class, n := range count {
		if n >= enough {
			own := slices.DeleteFunc(slices.Clone(answers), func(a verdict) bool {
				return labels.Called(a.predicted) != class
			})
			out.of[class] = sureFrom(own, labels, share, enough)
		}
	}
	return out
}

// EnoughLabels returns how many held-out answers, all of them right, it takes before an answer can be sure if
// at most this share may be wrong.
func EnoughLabels(share float64) int { return int(math.Ceil(math.Log(sureDoubt) / math.Log1p(-share))) }

// sureFrom returns the lowest confidence down to which so few wrong answers among those above it would be
// unlikely if more than the share were wrong; infinite if there is none. answers are the surest first. Each
// longer part of them is tested only after the shorter ones have passed, so that the doubt does not add up.
// Each is longer by a tenth, and ends where the next answer is less sure.
func sureFrom(answers []verdict, labels *taught.ForStream, share float64, enough int) float64 {
	from, wrong, next := math.Inf(1), 0, enough
	for i := range answers {
		a := &answers[i]
		if !labels.Alike(a.predicted, a.label) {
			wrong++
		}
		n := i + 1
		if n < next || n < len(answers) && answers[n].z == a.z {
			continue
		}
		if likely(n, wrong, share) > sureDoubt {
			if n > 2*enough { // a wrong answer among the first ones does not end the search
				return from
			}
			next = n + 1
			continue
		}
		from, next = float64(a.z), n+max(1, n/10)
	}
	return from
}

// likely returns the probability that no more than wrong of n are wrong where each is with this probability.
func likely(n, wrong int, probability float64) (sum float64) {
	term := math.Pow(1-probability, float64(n))
	for k := 0; k <= wrong; k++ {
		sum += term
		term *= float64(n-k) / float64(k+1) * probability / (1 - probability)
	}
	return sum
}

// judge sets whether an answer is sure, and from which confidence on it would be. An unknown one is not.
func (l *sureLimits) judge(a *Answer) {
	limit := l.limit(a.Label)
	a.Sure = a.Confidence >= limit && !a.Unknown
	if !math.IsInf(limit, 1) {
		a.SureFrom = limit
	}
}

// limit returns the confidence from which answers of a class are sure.
func (l *sureLimits) limit(class string) float64 {
	if own, ok := l.of[class]; ok {
		return own
	}
	return l.pooled
}
