package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// StreamResult is the scores of one stream. Those that do not apply are nil and omitted.
type StreamResult struct {
	Data         string   `json:"data"`
	N            int      `json:"n"`
	Episodes     int      `json:"episodes"`
	Warm         bool     `json:"warm"`
	Method       string   `json:"method"`
	Seed         uint64   `json:"seed"`
	Shots        int      `json:"shots"`
	Classes      int      `json:"classes"`
	Accuracy     *float64 `json:"accuracy,omitempty"`
	AccuracyAll  *float64 `json:"accuracy_all,omitempty"` // includes items whose label came after their answer
	FirstTenth   *float64 `json:"first_tenth,omitempty"`
	LastTenth    *float64 `json:"last_tenth,omitempty"`
	Iterations   float64  `json:"iterations"` // sweeps per episode
	Admitted     float64  `json:"admitted"`   // share of the unlabelled items that were learned from
	Taught       int      `json:"taught"`     // items whose label was given, at once or later
	UnknownAUROC *float64 `json:"unknown_auroc,omitempty"`
	// shares called unknown: of the items of unlabelled classes, and of those of labelled ones; and the share of
	// the former above the score that 5 % of the latter exceed
	UnknownFound *float64 `json:"unknown_found,omitempty"`
	UnknownFalse *float64 `json:"unknown_false,omitempty"`
	UnknownBest  *float64 `json:"unknown_best,omitempty"`
	// share of the items of unlabelled classes answered with a confidence above .9
	UnknownSure *float64 `json:"unknown_sure,omitempty"`
	// With MaxWrong: the share of items with a sure answer, items of unlabelled classes included, and the share
	// of wrong ones among them; then both for answers with a confidence of 1 - MaxWrong or more.
	Sure       *float64 `json:"sure,omitempty"`
	SureWrong  *float64 `json:"sure_wrong,omitempty"`
	Plain      *float64 `json:"plain,omitempty"`
	PlainWrong *float64 `json:"plain_wrong,omitempty"`
	// accuracy over the tenth of the items before, and after, new classes first come
	BeforeHalf *float64 `json:"before_half,omitempty"`
	AfterHalf  *float64 `json:"after_half,omitempty"`
	// share of the items without a class that are called unknown or nobody
	NobodyFound *float64 `json:"nobody_found,omitempty"`
	// share of the items of labelled classes called nobody
	FalseNobody *float64 `json:"false_nobody,omitempty"`
	ECE         *float64 `json:"ece,omitempty"`
	Calibrated  float64  `json:"calibrated"` // share of the answers marked calibrated
	NMI         *float64 `json:"nmi,omitempty"`
	ARI         *float64 `json:"ari,omitempty"`
	PairF1      *float64 `json:"pair_f1,omitempty"`
	Clusters    int      `json:"clusters,omitempty"`
	IDSwitches  *int     `json:"id_switches,omitempty"`
	// The same scores for first answers, given when an item came.
	NowAccuracy    *float64 `json:"now_accuracy,omitempty"`
	NowECE         *float64 `json:"now_ece,omitempty"`
	NowAUROC       *float64 `json:"now_unknown_auroc,omitempty"`
	NowNMI         *float64 `json:"now_nmi,omitempty"`
	StateBytes     int      `json:"state_bytes"`
	ObjectiveRises int      `json:"objective_rises"`
	Preset         string   `json:"preset,omitempty"`
}

// Stream runs the stage's own memory over a stream drawn from a set.
type Stream struct {
	Protocol StreamProtocol
	Settings stream.Settings
	Method   string // one of the solver's, or of Rivals
	Preset   string // name of the settings
	First    bool   // score first answers too
}

// learners are simple online methods, which learn from the same labels.
var learners = []string{"1nn", "centred-mean", "running-mean", "ridge", "logistic"}

// Rivals are the methods of Stream that are not the stage.
var Rivals = slices.Concat(learners, []string{labelSpreading}, Updates)

// Run draws the stream of a seed and answers it.
func (s *Stream) Run(ctx context.Context, set *Set, seed uint64) (StreamResult, error) {
	trial, err := s.Protocol.Draw(set, seed)
	if err != nil {
		return StreamResult{}, err
	}
	out := StreamResult{
		Data: set.Name, Episodes: len(trial.Episodes), Warm: s.Settings.Warm, Method: s.Method, Seed: seed,
		Shots: s.Protocol.Shots, Classes: len(trial.Classes), Preset: s.Preset,
	}
	var answers []stream.Answer
	switch {
	case s.Method == Leaders:
		out.Warm = true
		answers = trial.leaders()
	case slices.Contains(Rivals, s.Method):
		out.Warm = true
		answers, err = trial.rival(ctx, s.Method)
	default:
		answers, err = s.remember(ctx, trial, &out)
	}
	if err != nil {
		return StreamResult{}, fmt.Errorf("data %s: %w", set.Name, err)
	}
	trial.score(answers, &out)
	if s.Settings.MaxWrong > 0 && len(trial.Supports) > 0 {
		trial.scoreSure(answers, s.Settings.MaxWrong, &out)
	}
	if slices.Contains(Rivals, s.Method) { // rivals have no threshold for unknown, and only one has a score
		out.UnknownFound, out.UnknownFalse, out.UnknownSure = nil, nil, nil
		if s.Method != "1nn" {
			out.UnknownAUROC, out.UnknownBest = nil, nil
		}
	}
	if s.Protocol.TeachBy != "random" && !slices.Contains(Rivals, s.Method) {
		out.AccuracyAll = trial.accuracyAll(answers)
	}
	return out, nil
}

// remember answers the stream as the stage does: episode by episode, in order. It gets only the labels of the
// supports, of taught items and, with review, one episode later those of the items it asked for.
func (s *Stream) remember(ctx context.Context, trial *Trial, out *StreamResult) ([]stream.Answer, error) {
	settings := s.Settings
	if s.Protocol.TeachBy == "review" {
		settings.ReviewRate = s.Protocol.Teach
	}
	engine := new(stream.Engine)
	memory := stream.New(trial.Name, settings)
	labels := trial.labels()
	answers := make([]stream.Answer, 0, len(trial.Items))
	var sweeps, admitted, unlabelled int
	first := firstAnswers{memory: memory}
	for _, episode := range trial.Episodes {
		items := s.Protocol.items(trial, episode)
		if s.First {
			if err := first.come(items, labels); err != nil {
				return nil, err
			}
		}
		for i := range items {
			if items[i].Label == "" {
				unlabelled++
			}
		}
		given, report, err := memory.Answer(ctx, engine, items, labels)
		if err != nil {
			return nil, err
		}
		var reviewed []taught.Example
		for i, a := range given {
			item := &trial.Items[episode[i]]
			if a.Review {
				item.Taught = item.Taught || item.Class() || trial.NobodyTaught && item.Nobody()
			}
			if item.Taught && items[i].Label == "" {
				reviewed = append(reviewed, taught.Example{
					ID: items[i].ID, Label: className(item.Truth),
					Vector: items[i].Vector,
				})
			}
			if item.Taught {
				out.Taught++
			}
		}
		if len(reviewed) > 0 {
			labels = &taught.Labels{
				Everyone: labels.Everyone,
				Stream: map[string][]taught.Example{trial.Name: append(slices.Clone(labels.Stream[trial.Name]),
					reviewed...)},
			}
		}
		if s.First {
			if err := first.follow(items, given, labels); err != nil {
				return nil, err
			}
		}
		answers = append(answers, given...)
		sweeps += report.Sweeps
		admitted += report.Admitted
		out.ObjectiveRises += report.Rises
	}
	out.Iterations = float64(sweeps) / float64(len(trial.Episodes))
	out.Admitted = float64(admitted) / float64(max(1, unlabelled))
	if s.First {
		first.score(trial, out)
	}
	for _, piece := range memory.State() {
		out.StateBytes += len(piece.Bytes)
	}
	return answers, nil
}

// Episodes draws the stream of a seed as the stage would get it: its episodes in order, and the labels given
// before the start.
func (p *StreamProtocol) Episodes(set *Set, seed uint64) ([][]stream.Item, *taught.Labels, error) {
	trial, err := p.Draw(set, seed)
	if err != nil {
		return nil, nil, err
	}
	var episodes [][]stream.Item
	for _, episode := range trial.Episodes {
		episodes = append(episodes, p.items(trial, episode))
	}
	return episodes, trial.labels(), nil
}

// items returns the items of an episode as the stage gets them.
func (p *StreamProtocol) items(trial *Trial, episode []int) []stream.Item {
	items := make([]stream.Item, len(episode))
	for i, at := range episode {
		item := &trial.Items[at]
		items[i] = stream.Item{
			ID: fmt.Sprintf("item-%d", at), Vector: item.Vector,
			Position: stream.Position{Offset: int64(at), Object: -1},
			Frame:    p.named(p.Frames, item.Row), Track: p.named(p.Tracks, item.Row),
		}
		if item.Taught && p.TeachBy == "random" {
			items[i].Label = className(item.Truth)
		}
	}
	return items
}

// labels returns the supports of the stream.
func (t *Trial) labels() *taught.Labels {
	labels := &taught.Labels{}
	for i, row := range t.Supports {
		labels.Everyone = append(labels.Everyone, taught.Example{
			ID: fmt.Sprintf("support-%d", i), Label: className(t.SupportLabels[i]), Vector: row,
		})
	}
	return labels
}

// named returns a row's number as a name; "" if it has none.
func (p *StreamProtocol) named(numbers []int32, row int32) string {
	if numbers == nil || row < 0 || numbers[row] < 0 {
		return ""
	}
	return strconv.Itoa(int(numbers[row]))
}

// nobody is the label of items without a class.
const nobody = stream.Nobody

func className(class int32) string {
	if class < 0 {
		return nobody
	}
	return strconv.Itoa(int(class))
}

// score scores the answers, one for each item in order.
func (t *Trial) score(answers []stream.Answer, out *StreamResult) {
	if len(t.Supports) == 0 {
		t.scoreClusters(answers, out)
		return
	}
	var right, correct []bool // of items with a class; of all items that confidence covers
	var stated, scores []float64
	var unknown []bool
	var calibrated, called, sure [2]float64
	half := 0 // number of elements of right before the second half
	var without, found, mistaken float64
	for i, item := range t.Items {
		a := answers[i]
		if item.Nobody() && !item.Taught {
			if without++; a.Unknown || a.Label == nobody {
				found++
			}
			if t.NobodyTaught { // a class of its own, which confidence covers too
				stated, correct = append(stated, a.Confidence), append(correct, a.Label == nobody)
			}
		}
		if item.Taught || item.Truth < 0 {
			continue
		}
		scores, unknown = append(scores, a.UnknownScore), append(unknown, !item.Known)
		side := 0
		if !item.Known {
			side = 1
		}
		if a.Unknown {
			called[side]++
		}
		if a.Confidence > .9 {
			sure[side]++
		}
		if !item.Known {
			continue
		}
		if a.Label == nobody {
			mistaken++
		}
		if i < t.Half {
			half++
		}
		right = append(right, a.Label == className(item.Truth))
		stated, correct = append(stated, a.Confidence), append(correct, a.Label == className(item.Truth))
		if a.Calibrated {
			calibrated[0]++
		}
	}
	share := func(part []bool) *float64 {
		sum := 0.
		for _, ok := range part {
			if ok {
				sum++
			}
		}
		if len(part) == 0 {
			return nil
		}
		return pointer(sum / float64(len(part)))
	}
	tenth := (len(right) + 9) / 10
	out.N = len(right)
	out.Accuracy, out.FirstTenth = share(right), share(right[:tenth])
	out.LastTenth = share(right[len(right)-tenth:])
	if t.Half > 0 {
		out.BeforeHalf = share(right[max(0, half-tenth):half])
		out.AfterHalf = share(right[half:min(half+tenth, len(right))])
	}
	out.ECE = pointer(ece(stated, correct))
	out.Calibrated = calibrated[0] / float64(max(1, len(right)))
	known := float64(max(1, len(right)))
	out.UnknownFalse = pointer(called[0] / known)
	if without > 0 {
		out.NobodyFound, out.FalseNobody = pointer(found/without), pointer(mistaken/known)
	}
	if others := float64(len(unknown)) - float64(len(right)); others > 0 {
		out.UnknownAUROC = pointer(auroc(scores, unknown))
		out.UnknownFound, out.UnknownBest = pointer(called[1]/others), pointer(foundAt(scores, unknown, .05))
		out.UnknownSure = pointer(sure[1] / others)
	}
}

// accuracyAll returns the accuracy over every item of a labelled class, for streams in which each is
// answered before its label comes. A method that asks for the labels of hard items gains nothing here, as
// these are scored too.
func (t *Trial) accuracyAll(answers []stream.Answer) *float64 {
	right, all := 0., 0.
	for i, item := range t.Items {
		if !item.Known {
			continue
		}
		if all++; answers[i].Label == className(item.Truth) {
			right++
		}
	}
	return pointer(right / all)
}

func (t *Trial) scoreClusters(answers []stream.Answer, out *StreamResult) {
	numbers := map[string]int32{}
	var truth, found []int32
	for i, item := range t.Items {
		if !item.Class() {
			continue
		}
		out.N++
		n, ok := numbers[answers[i].Label]
		if !ok {
			n = int32(len(numbers))
			numbers[answers[i].Label] = n
		}
		truth, found = append(truth, item.Truth), append(found, n)
	}
	out.NMI, out.ARI, out.PairF1 = pointer(NMI(truth, found)), pointer(ARI(truth, found)), pointer(PairF1(truth,
		found))
	out.Clusters = len(numbers)
	switches := IDSwitches(truth, found)
	out.IDSwitches = &switches
}

func pointer(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
