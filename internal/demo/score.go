package demo

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// recent is the number of latest items over which the running accuracy is taken.
const recent = 500

// Score counts the right answers of one method.
type Score struct {
	Name   string `json:"name"`
	Right  int64  `json:"right"`
	All    int64  `json:"all"`
	Late   int64  `json:"late"` // of the last 500
	LateOf int64  `json:"lateOf"`
	last   []bool
}

// Share is the accuracy so far.
func (s *Score) Share() float64 { return share(s.Right, s.All) }

// LateShare is the accuracy over the last 500 items.
func (s *Score) LateShare() float64 { return share(s.Late, s.LateOf) }

func share(right, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(right) / float64(all)
}

func (s *Score) count(right bool) {
	s.All++
	if s.last = append(s.last, right); right {
		s.Right++
		s.Late++
	}
	if n := len(s.last) - recent; n > 0 {
		if s.last[0] {
			s.Late--
		}
		s.last = s.last[n:]
	}
	s.LateOf = int64(len(s.last))
}

// Pair are the scores of the stage and of the nearest labelled example.
type Pair [2]Score

func newPair() Pair { return Pair{{Name: "slkstream"}, {Name: "nearest example"}} }

// clone returns a copy that does not change.
func (p Pair) clone() Pair {
	for i := range p {
		p[i].last = slices.Clone(p[i].last)
	}
	return p
}

// Judge scores the stage beside the nearest labelled example, on the same items: in all, and camera by camera.
// A thing is scored once it has a name. One goroutine uses it at a time.
type Judge struct {
	all       Pair
	cameras   map[string]*Pair
	newcomers []string // ids of the latest pictures of the newcomer
	called    string   // what people call the newcomer; "": it has no name yet
	aside     Score    // of the scored things those that the stage calls unknown: they count by the label that they are most like

	Strangers, SetAside int64 // strangers so far, and how many of them the stage called unknown
}

// NewJudge starts the score.
func NewJudge() *Judge {
	return &Judge{all: newPair(), cameras: map[string]*Pair{}, aside: Score{Name: "no name yet"}}
}

// Board is the score at one time.
type Board struct {
	All     Pair
	Cameras map[string]Pair
	Called  string // what people call the newcomer; "": it has no name yet
	Aside   Score  // how many of the scored things the stage calls unknown
}

// Board returns the score so far.
func (j *Judge) Board() Board {
	b := Board{All: j.all.clone(), Cameras: map[string]Pair{}, Called: j.called, Aside: j.aside}
	b.Aside.last = nil
	for name, p := range j.cameras {
		b.Cameras[name] = p.clone()
	}
	return b
}

// Judged is one item of an episode with the stage's answer and the true label.
type Judged struct {
	Item     stream.Item
	Label    string // the stage's answer
	Unknown  bool   // the stage's too
	Truth    string // "": not known; it is not scored
	Stranger bool
}

// Take scores an episode of a camera that was answered by these labels.
func (j *Judge) Take(camera string, episode []Judged, labels *taught.Labels) Board {
	j.hearName(labels)
	own := j.cameras[camera]
	if own == nil {
		pair := newPair()
		own = &pair
		j.cameras[camera] = own
	}
	for i := range episode {
		e := &episode[i]
		if e.Stranger {
			j.Strangers++
			if e.Unknown {
				j.SetAside++
			}
		}
		truth := e.Truth
		if truth == Newcomer {
			j.newcomers = append(j.newcomers[max(0, len(j.newcomers)-keptNewcomers):], e.Item.ID)
			truth = j.called
		}
		if truth == "" || e.Item.Label != "" {
			continue
		}
		j.aside.count(e.Unknown)
		for method, label := range [2]string{e.Label, nearest(e.Item.Vector, camera, labels)} {
			j.all[method].count(label == truth)
			own[method].count(label == truth)
		}
	}
	return j.Board()
}

// keptNewcomers is how many pictures of the newcomer a person can have named: far more than a page shows.
const keptNewcomers = 5000

// hearName finds out what people call the newcomer.
func (j *Judge) hearName(labels *taught.Labels) {
	j.called = ""
	for _, e := range labels.All() {
		if slices.Contains(j.newcomers, e.ID) {
			j.called = e.Label
		}
	}
}

// nearest returns the label of the labelled example whose direction is most like a vector's.
func nearest(vector []float32, camera string, labels *taught.Labels) (label string) {
	best := float32(math.Inf(-1))
	for in, e := range labels.All() {
		if in != "" && in != camera || len(e.Vector) != len(vector) {
			continue
		}
		like := kernel.Dot(vector, e.Vector) / float32(math.Sqrt(float64(kernel.Dot(e.Vector, e.Vector))))
		if like > best {
			best, label = like, e.Label
		}
	}
	return label
}
