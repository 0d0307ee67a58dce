package evaluate

import (
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/recent"
)

// CorrectionsResult counts the corrections that later labels made to recently answered items.
type CorrectionsResult struct {
	Data      string  `json:"data"`
	Seed      uint64  `json:"seed"`
	Shots     int     `json:"shots"`
	TeachBy   string  `json:"teach_by"`
	Items     int     `json:"items"`   // items without a given label
	Wrong     int     `json:"wrong"`   // of them, as answered
	Taught    int     `json:"taught"`  // labels given
	Right     int     `json:"right"`   // corrections from wrong to right
	Spoiled   int     `json:"spoiled"` // corrections from right to wrong
	Accuracy  float64 `json:"accuracy"`
	Corrected float64 `json:"corrected_accuracy"`
}

// Corrections answers a stream whose labels come with the next episode, and corrects recent items after each
// of them, as the stage does. Protocol.TeachBy is later or review.
func (s *Stream) Corrections(ctx context.Context, set *Set, seed uint64) (CorrectionsResult, error) {
	const window = 1000
	out := CorrectionsResult{Data: set.Name, Seed: seed, Shots: s.Protocol.Shots, TeachBy: s.Protocol.TeachBy}
	trial, err := s.Protocol.Draw(set, seed)
	if err != nil {
		return out, err
	}
	answers, err := s.remember(ctx, trial, &StreamResult{})
	if err != nil {
		return out, err
	}
	truth, called := map[string]string{}, map[string]string{}
	var examples []recent.Example
	for i, row := range trial.Supports {
		examples = append(examples, recent.Example{ID: fmt.Sprint("support-", i), Vector: row})
	}
	store := recent.New(1 << 30)
	partition := store.Open("in/0")
	for _, episode := range trial.Episodes {
		items := make([]recent.Item, len(episode))
		asked := s.Protocol.items(trial, episode)
		for i, at := range episode {
			id := asked[i].ID
			items[i] = recent.Item{
				ID: id, Name: id, Stream: trial.Name, Track: asked[i].Track, Label: answers[at].Label,
				Confidence: answers[at].Confidence, Unknown: answers[at].Unknown,
			}
			truth[id], called[id] = className(trial.Items[at].Truth), answers[at].Label
		}
		partition.Add(recent.NewBlock(items, func(i int) []float32 { return trial.Items[episode[i]].Vector }))
		partition.Last(window)
		for i, at := range episode {
			if !trial.Items[at].Taught {
				continue
			}
			out.Taught++
			e := recent.Example{ID: items[i].ID, Vector: trial.Items[at].Vector}
			change := partition.Correction(recent.Change{ID: e.ID, Label: truth[e.ID], Vector: e.Vector})
			for more := true; more; {
				var corrected []recent.Corrected
				corrected, more = change.Next(slices.Values(examples))
				for _, c := range corrected {
					called[c.ID] = c.Label
					switch {
					case c.ID == e.ID:
					case c.Was == truth[c.ID]:
						out.Spoiled++
					case c.Label == truth[c.ID]:
						out.Right++
					}
				}
			}
			examples = append(examples, e)
		}
	}
	var right, corrected int
	for i := range trial.Items {
		if item := &trial.Items[i]; item.Taught || !item.Known {
			continue
		}
		out.Items++
		id := fmt.Sprint("item-", i)
		if answers[i].Label == truth[id] {
			right++
		} else {
			out.Wrong++
		}
		if called[id] == truth[id] {
			corrected++
		}
	}
	out.Accuracy = float64(right) / float64(max(1, out.Items))
	out.Corrected = float64(corrected) / float64(max(1, out.Items))
	return out, nil
}
