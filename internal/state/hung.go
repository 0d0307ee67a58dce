package state

import (
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// Hung is an episode whose solve did not end for earlier owners of the partition.
type Hung struct {
	Stream record.StreamID
	First  record.Position // of its items
	Times  int             // owners that had to stop because of it
}

// Hung returns the record that tells later owners which episode's solve does not end. It is not part of a
// commit, because this owner will not make another. It may be called on any goroutine.
func (k *Writer) Hung(s record.StreamID, first record.Position) record.Out {
	b := appendPosition(appendText(appendText(begin(), s.Name), s.Model), first)
	return k.record(stateKey{group: k.group, topic: k.topic, owner: k.owner, kind: hungKind}.String(), seal(b))
}

// hang adds the record of an episode that hung an owner.
func (r *Restored) hang(key string, value []byte) {
	v := open(value)
	h := Hung{Stream: record.StreamID{Name: v.text(), Model: v.text()}, First: v.position(), Times: 1}
	if v.err != nil {
		r.leave(Owner{}, v.err, key)
		return
	}
	r.hung = append(r.hung, hungRecord{key, h})
}

type hungRecord struct {
	key string
	Hung
}

// hangs counts the owners that each episode stopped. Records of episodes before the position where reading
// starts again are superfluous, unless the episode must be replayed.
func (r *Restored) hangs() {
	at := map[episodeName]int{}
	for _, h := range r.hung {
		again := slices.ContainsFunc(r.Relearn, func(a Episode) bool {
			return a.Stream == h.Stream && a.First == h.First
		})
		if r.Journal != nil && r.Journal.From.After(h.First) && !again {
			r.superfluous = append(r.superfluous, h.key)
			continue
		}
		n := episodeName{h.Stream, h.First}
		if i, ok := at[n]; ok {
			r.Hung[i].Times++
			continue
		}
		at[n] = len(r.Hung)
		r.Hung = append(r.Hung, h.Hung)
	}
}
