package evaluate

import (
	"github.com/slkstream/slkstream/solver/stream"
)

// firstAnswers are what the items of a stream are answered when they come, beside what their episodes answer.
type firstAnswers struct {
	memory  *stream.Stream
	now     stream.Now
	knows   *stream.Knowledge
	answers []stream.Answer
}

// come answers the items of an episode one record after the other, as far as the stream knows them before.
func (f *firstAnswers) come(items []stream.Item, labels *stream.Labels) error {
	if f.knows == nil {
		if err := f.follow(items, nil, labels); err != nil {
			return err
		}
	}
	for i := range items {
		given := f.now.Answer(items[i : i+1])
		if given == nil { // nothing is known yet
			given = []stream.Answer{{}}
		}
		f.answers = append(f.answers, given...)
	}
	return nil
}

// follow takes in what an episode answered, and what the stream knows after it.
func (f *firstAnswers) follow(items []stream.Item, answers []stream.Answer, labels *stream.Labels) (err error) {
	if f.knows, err = f.memory.Knowledge(&items[0], labels, f.knows); err != nil {
		return err
	}
	if answers == nil {
		items = nil
	}
	f.now.Follow(f.knows, items, answers)
	return nil
}

// score fills in what the first answers are worth.
func (f *firstAnswers) score(trial *Trial, out *StreamResult) {
	var first StreamResult
	trial.score(f.answers, &first)
	out.NowAccuracy, out.NowECE, out.NowAUROC, out.NowNMI = first.Accuracy, first.ECE, first.UnknownAUROC, first.NMI
}
