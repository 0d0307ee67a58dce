package evaluate

import (
	"github.com/slkstream/slkstream/internal/now"
	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// firstAnswers collects the answers that items get when they come, before their episode is answered.
type firstAnswers struct {
	memory  *stream.Stream
	now     now.Now
	knows   *view.View
	answers []stream.Answer
}

// come answers the items of an episode one by one, from the stream's knowledge before it.
func (f *firstAnswers) come(items []stream.Item, labels *taught.Labels) error {
	if f.knows == nil {
		if err := f.follow(items, nil, labels); err != nil {
			return err
		}
	}
	for i := range items {
		given := f.now.Answer(items[i : i+1])
		if given == nil { // no knowledge yet
			given = []stream.Answer{{}}
		}
		f.answers = append(f.answers, given...)
	}
	return nil
}

// follow updates the knowledge after an episode was answered.
func (f *firstAnswers) follow(items []stream.Item, answers []stream.Answer, labels *taught.Labels) (err error) {
	if f.knows, err = f.memory.View(&items[0], labels, f.knows); err != nil {
		return err
	}
	if answers == nil {
		items = nil
	}
	f.now.Follow(f.knows, items, answers)
	return nil
}

// score scores the first answers.
func (f *firstAnswers) score(trial *Trial, out *StreamResult) {
	var first StreamResult
	trial.score(f.answers, &first)
	out.NowAccuracy, out.NowECE, out.NowAUROC, out.NowNMI = first.Accuracy, first.ECE, first.UnknownAUROC, first.NMI
}
