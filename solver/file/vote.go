package file

import (
	"cmp"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/internal/vector"
)

// calibration is what held rows say of a file: what each answer weighs, and how high the limit of the unknown is.
type calibration struct {
	spaces  []space
	weights []float64 // of the answers; nil: without held rows
	classes int
	at      []float32 // of each held row, the rank of its unknown score, 0 to 1, among those of unlabelled rows
	of      []int32   // and its class
	rate    float64   // share of known rows that may be above the limit
}

// Answers weigh votes together before held rows say how much each is worth, and may weigh mostVotes more or less each.
const (
	votes     = 4
	mostVotes = 6
	// scaleDeviation is of the prior, with mean 1, of the factor of all weights together.
	scaleDeviation = .5
)

// weights returns what each answer weighs before held rows say more: the same, and all but labels alone as far as prototypes
// are a guide. Without held rows answers with class vectors count alone, where there are any, and what descends from
// clusters that are the classes.
func (o *solutions) weights(held bool) []float64 {
	out, counted := make([]float64, len(o.answers)), 0.
	for j, a := range o.answers {
		last := j == len(o.answers)-1
		if held || (a.named || !o.named()) && (last || !o.matched) {
			out[j] = votes
			counted++
		}
	}
	for j, a := range o.answers {
		out[j] /= counted
		if !a.alone && (held || !o.matched) {
			out[j] *= o.guide
		}
	}
	return out
}

// named reports whether some answers are by class vectors too.
func (o *solutions) named() bool {
	return slices.ContainsFunc(o.answers, func(a answer) bool { return a.named })
}

// say is by how much an answer counts for its class, with a weight of 1.
func say(sure float32) float32 { return .5 + sure }

// fit returns the weights, which have a normal prior with this mean, that suit best what became of held rows, and minus the
// logarithm of how likely the class of each is then. Held rows of a support stand nowhere in the file: where its order
// counts, the answers that use it most are worse for these rows than for the file's. So they say only how much all votes
// weigh together.
func fit(held []heldRow, prior []float64, classes int) (weights, losses []float64) {
	n := len(prior)
	placed := choices(slices.DeleteFunc(slices.Clone(held), func(row heldRow) bool { return !row.placed }), n, classes)
	deviation := slices.Repeat([]float64{mostVotes / float64(n)}, n)
	weights = placed.Fit(prior, logistic.Normal(prior, deviation))
	for j := range weights {
		weights[j] = max(0, weights[j])
	}
	cases := placed
	if len(placed.Ends) < len(held) {
		cases = choices(held, n, classes)
		one := []float64{1}
		factor := max(0, cases.Along(weights).Fit(one, logistic.Normal(one, []float64{scaleDeviation}))[0])
		for j := range weights {
			weights[j] *= factor
		}
	}
	for i := range held {
		losses = append(losses, cases.Case(i).Loss(weights, make([]float64, n), make([]float64, n*n)))
	}
	return weights, losses
}

// choices are the cases of held rows, with n answers: the score of a class is the sum of the weights of the answers that
// name it, and it is the row's with the softmax of the scores.
func choices(held []heldRow, n, classes int) *logistic.Choices {
	c := &logistic.Choices{Weights: n}
	for _, row := range held {
		named, began := []int32{row.truth}, len(c.Offsets)
		c.Right = append(c.Right, began)
		c.Values, c.Offsets = append(c.Values, make([]float32, n)...), append(c.Offsets, 0)
		for j, y := range row.class {
			i := slices.Index(named, y)
			if i < 0 {
				i, named = len(named), append(named, y)
				c.Values, c.Offsets = append(c.Values, make([]float32, n)...), append(c.Offsets, 0)
			}
			c.Values[(began+i)*n+j] = say(row.sure[j])
		}
		if others := classes - len(named); others > 0 { // each has a score of 0
			c.Values, c.Offsets = append(c.Values, make([]float32, n)...), append(c.Offsets, float32(math.Log(float64(others))))
		}
		c.Ends = append(c.Ends, len(c.Offsets))
	}
	return c
}

// beyond reports whether losses are less than others by more than two standard errors.
func beyond(losses, others []float64) bool {
	lead, squares := 0., 0.
	for i, v := range others {
		by := v - losses[i]
		lead, squares = lead+by, squares+by*by
	}
	return lead > 2*math.Sqrt(squares)
}

// label fills in the classes, the second-best classes and the confidence of the rows: that of the fit as far as held rows
// are to be trusted, else the mean of how sure the answers are that name the class, where one that names another is not
// sure of it at all. With class vectors it is the largest of these: the answers that count have them, and they say how sure
// they are.
func (v *calibration) label(o *solutions, class []int32, r *Result) {
	r.Calibrated = v.at != nil
	weights, byNames := v.weights, o.named()
	if !r.Calibrated {
		weights = o.weights(false)
	}
	n, trust, total := len(r.UnknownScore), float32(v.trust()), float32(0)
	for _, w := range weights {
		total += float32(w)
	}
	r.Labels, r.Second, r.Confidence = make([]int32, n), slices.Clone(o.second[:n]), make([]float32, n)
	eachChunk(n, func(_, from, to int) {
		named, scores := make([]int32, 0, len(weights)), make([]float64, 0, len(weights))
		for p := from; p < to; p++ {
			if class[p] >= 0 {
				r.Labels[p], r.Confidence[p] = class[p], 1
				continue
			}
			named, scores = named[:0], scores[:0]
			for j, of := range o.answers {
				i := slices.Index(named, of.class[p])
				if i < 0 {
					i, named, scores = len(named), append(named, of.class[p]), append(scores, 0)
				}
				scores[i] += weights[j] * float64(say(of.sure[p]))
			}
			best, second, sum := 0, -1, float64(v.classes-len(named))
			for i, s := range scores {
				if sum += math.Exp(s); s > scores[best] {
					best = i
				}
			}
			for i, s := range scores {
				if i != best && (second < 0 || s > scores[second]) {
					second = i
				}
			}
			if second >= 0 {
				r.Second[p] = named[second]
			}
			r.Labels[p], r.Confidence[p] = named[best], float32(math.Exp(scores[best])/sum)
			if trust < 1 && total > 0 {
				mean, most := float32(0), float32(0)
				for j, of := range o.answers {
					if weights[j] > 0 && of.class[p] == named[best] {
						mean, most = mean+float32(weights[j])/total*of.sure[p], max(most, of.sure[p])
					}
				}
				if byNames {
					mean = most
				}
				r.Confidence[p] = trust*r.Confidence[p] + (1-trust)*mean
			}
		}
	})
}

// leastMedian is the rank of the median of held rows among those of the file, of which half are then of no labelled class.
const leastMedian = .25

// trust returns how far held rows stand for the file, 0 to 1; 0 without any. With a median rank below leastMedian they are
// rather of other moments than the file, as those of a support can be, than most of the file of no class.
func (v *calibration) trust() float64 {
	if len(v.at) == 0 {
		return 0
	}
	return min(1, vector.Quantile(slices.Sorted(slices.Values(v.at)), .5)/leastMedian)
}

// rank returns the rank of the limit of the unknown score among the scores of the file; at: the ranks of held rows,
// ascending. n held rows divide the ranks into n + 1 parts, into each of which a further row like them falls as likely: so
// the rate holds of few rows too. As far as held rows are not to be trusted, and for enoughHeldOut of n + enoughHeldOut, the
// limit is a quantile of the file.
func (v *calibration) rank(at []float32) float64 {
	known := v.trust() * float64(len(at)) / float64(len(at)+enoughHeldOut)
	return known*vector.Quantile(slices.Concat([]float32{0}, at, []float32{1}), 1-v.rate) + (1-known)*(1-v.rate)
}

// ranks returns as many ranks as there are held rows, ascending, with the share of each class that it has of the answers:
// held rows are as many of each class, and of a class with many rows labels reach fewer.
func (v *calibration) ranks(class []int32, r *Result) []float32 {
	count, held := make([]float64, v.classes), make([]float64, v.classes)
	for p, y := range r.Labels {
		if class[p] < 0 {
			count[y]++
		}
	}
	order, total := make([]int, len(v.of)), 0.
	for i, y := range v.of {
		order[i] = i
		held[y]++
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v.at[i], v.at[j]) })
	weight := func(i int) float64 { return (count[v.of[i]] + 1) / held[v.of[i]] }
	for _, i := range order {
		total += weight(i)
	}
	out, below := make([]float32, 0, len(order)), 0.
	for at, i := range order {
		below += weight(i) / total
		for len(out) < len(order) && (at == len(order)-1 || float64(len(out))+.5 <= below*float64(len(order))) {
			out = append(out, v.at[i])
		}
	}
	return out
}

// limit sets the limit of the unknown score, by the ranks of held rows' scores among those of the file, not by the scores
// themselves, as with fewer labels all scores are higher; without held rows it is a quantile of the file.
func (v *calibration) limit(class []int32, r *Result) {
	scores := unlabelled(r.UnknownScore, class)
	switch {
	case len(scores) == 0: // every row is labelled
		r.UnknownLimit = math.Inf(1)
	case v.at == nil:
		r.UnknownLimit = vector.Quantile(scores, 1-v.rate)
	default:
		r.UnknownLimit = vector.Quantile(scores, v.rank(v.ranks(class, r)))
	}
}

// unlabelled returns the scores of the rows without a label, ascending.
func unlabelled(scores []float32, class []int32) []float32 {
	var out []float32
	for p, v := range scores {
		if class[p] < 0 {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}
