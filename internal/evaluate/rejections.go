package evaluate

import (
	"context"
	"math/rand/v2"

	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// RejectionResult compares a stream with the same stream after some of its wrong answers were rejected.
type RejectionResult struct {
	Items, Rejected   int
	Wrong, WrongAfter int // answers
	RightLost         int // answers right without the rejections and wrong with them
	ObjectiveRises    int
}

// RunRejections answers the stream of a seed, rejects a random share of its wrong answers, and answers it
// again. Each rejection is in force from the episode after its item's.
func (s *Stream) RunRejections(
	ctx context.Context, set *Set, seed uint64, share float64,
) (out RejectionResult, err error) {
	trial, err := s.Protocol.Draw(set, seed)
	if err != nil {
		return out, err
	}
	random := rand.New(rand.NewPCG(seed, 0x726a63))
	rejected := map[int]bool{}
	var before []bool // right without the rejections
	for _, again := range []bool{false, true} {
		engine := new(stream.Engine)
		memory, labels := stream.New(trial.Name, s.Settings), trial.labels()
		var list []taught.Rejection
		at := 0
		for _, episode := range trial.Episodes {
			items := s.Protocol.items(trial, episode)
			answers, report, err := memory.Answer(ctx, engine, items, labels)
			if err != nil {
				return out, err
			}
			out.ObjectiveRises += report.Rises
			for i, a := range answers {
				item := &trial.Items[episode[i]]
				right := item.Truth >= 0 && a.Label == className(item.Truth)
				switch {
				case !again:
					before = append(before, right)
					if out.Items++; !right {
						out.Wrong++
						if random.Float64() < share {
							rejected[at] = true
							out.Rejected++
						}
					}
				default:
					if !right {
						out.WrongAfter++
						if before[at] {
							out.RightLost++
						}
					}
					if rejected[at] && !right {
						list = append(list, taught.Rejection{
							ID: items[i].ID, Stream: trial.Name, Not: []string{a.Label}, Track: items[i].Track,
							Vector: items[i].Vector,
						})
					}
				}
				at++
			}
			if len(list) > 0 {
				rejections, _ := taught.NewRejections(list)
				labels = labels.With(taught.Changes{Rejections: rejections})
			}
		}
	}
	return out, nil
}
