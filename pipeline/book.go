package pipeline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
)

// errGrown is returned when the labels topic has more partitions than are read.
var errGrown = errors.New("the labels topic has grown")

// book is a view in the making.
type book struct {
	support []stream.Example
	words   map[string][]word // of each example's id, the last record of each partition
	ids     []string          // of words, in order, but for the latest
	latest  []string          // ids that came since ids was put in order
	most    int               // examples of the topic that are in force, the latest; 0: all
	last    *stream.Labels    // of the view made last
	inForce int               // examples of the topic in it
	leftOut int               // examples that it leaves out, as there are more than most
	next    []int64
	resets  []reset
}

// word is what a record of the labels topic says of an example.
type word struct {
	id        string
	partition int
	offset    int64
	at        time.Time // the record's timestamp
	forget    bool
	stream    string // the one it is for; "": every one
	example   stream.Example
	told      bool // that it does not fit the feed
}

func (l *labels) begin(partitions int) *book {
	return &book{support: l.support, words: map[string][]word{}, next: make([]int64, partitions), most: l.most}
}

// apply takes in one record and returns what it says of an example; nil: nothing.
func (b *book) apply(partition int, offset int64, at time.Time, what record.Label) *word {
	w := word{partition: partition, offset: offset, at: at}
	switch {
	case what.Reset != nil:
		b.resets = append(b.resets, reset{partition, offset, *what.Reset})
		return nil
	case what.Teach != nil:
		i := what.Teach
		w.id, w.stream = i.ItemID, i.Stream
		w.example = stream.Example{ID: i.ItemID, Label: i.Label, Vector: i.Vector, Model: i.Model}
	default:
		w.id, w.forget = what.Forget, true
	}
	list, known := b.words[w.id]
	if !known {
		b.latest = append(b.latest, w.id)
	}
	for i := range list {
		if list[i].partition == partition {
			list[i] = w
			return &list[i]
		}
	}
	list = append(list, w)
	b.words[w.id] = list
	return &list[len(list)-1]
}

// standing is the word that stands of an id: in a partition the last, of several partitions the one with the
// latest timestamp, of equals the one in the highest partition. So it depends on what the topic holds and not
// on who reads which partition first, and compaction changes nothing.
func standing(list []word) *word {
	best := &list[0]
	for i := range list[1:] {
		w := &list[1+i]
		if c := w.at.Compare(best.at); c > 0 || c == 0 && w.partition > best.partition {
			best = w
		}
	}
	return best
}

// before says whether the record of w came before that of x, by timestamp, then by partition and offset.
func (w *word) before(x *word) bool {
	return cmp.Or(w.at.Compare(x.at), cmp.Compare(w.partition, x.partition), cmp.Compare(w.offset, x.offset)) < 0
}

// order returns the ids of all words in order. What was in order stays so: one more costs no sort of the
// others.
func (b *book) order() []string {
	if len(b.latest) == 0 {
		return b.ids
	}
	slices.Sort(b.latest)
	merged := make([]string, 0, len(b.ids)+len(b.latest))
	old := b.ids
	for _, id := range b.latest {
		n, _ := slices.BinarySearch(old, id)
		merged = append(append(merged, old[:n]...), id)
		old = old[n:]
	}
	b.ids, b.latest = append(merged, old...), b.latest[:0]
	return b.ids
}

// oldest is the word of the oldest example that is in force where there are more than most; nil: all are. It
// depends on what the topic holds, so that all processes leave out the same ones.
func (b *book) oldest() *word {
	if b.most == 0 || len(b.words) <= b.most {
		return nil
	}
	list := make([]*word, 0, len(b.words))
	for _, words := range b.words {
		if w := standing(words); !w.forget {
			list = append(list, w)
		}
	}
	if len(list) <= b.most {
		return nil
	}
	slices.SortFunc(list, func(x, y *word) int {
		if x.before(y) {
			return 1
		}
		return -1
	})
	return list[b.most-1]
}

func (b *book) view() *view {
	v := &view{labels: &stream.Labels{Stream: map[string][]stream.Example{}}, next: slices.Clone(b.next), resets: slices.Clone(b.resets)}
	dimensions := labelledDimensions{}
	for _, e := range b.support { // the topic's word stands above the file's
		if len(b.words[e.ID]) > 0 {
			continue
		}
		v.labels.Everyone = append(v.labels.Everyone, e)
		dimensions.add(e.Model, len(e.Vector))
	}
	oldest := b.oldest()
	b.inForce, b.leftOut = 0, 0
	for _, id := range b.order() {
		w := standing(b.words[id])
		switch {
		case w.forget:
			v.labels.Forgotten = append(v.labels.Forgotten, id)
			continue
		case oldest != nil && w.before(oldest):
			b.leftOut++
			continue
		case w.stream == "":
			v.labels.Everyone = append(v.labels.Everyone, w.example)
		default:
			v.labels.Stream[w.stream] = append(v.labels.Stream[w.stream], w.example)
		}
		dimensions.add(w.example.Model, len(w.example.Vector))
		b.inForce++
	}
	v.dimensions = dimensions.most()
	if b.last != nil {
		v.labels.Follow(b.last)
	}
	b.last = v.labels
	return v
}

// agreed are the dimensions that the feed's records agree on, by model.
type agreed struct {
	mutex      sync.Mutex
	dimensions map[string]int
	changed    chan struct{} // holds one when they have changed
}

// agree is told by partitions what their records agree on. Examples of another dimension are of no use to
// anybody.
func (a *agreed) agree(dimensions map[string]int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.dimensions == nil {
		a.dimensions = map[string]int{}
	}
	for model, d := range dimensions {
		if a.dimensions[model] == d {
			continue
		}
		a.dimensions[model] = d
		select {
		case a.changed <- struct{}{}:
		default:
		}
	}
}

// seen is told the dimension of records that were answered: it holds where partitions have told none.
func (a *agreed) seen(model string, dimension int) {
	if a.of(model) == 0 {
		a.agree(map[string]int{model: dimension})
	}
}

func (a *agreed) of(model string) int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.dimensions[model]
}

// misfit makes the dead letter of an example whose dimension is not the feed's, once. It is not in force
// anywhere, as streams leave it out; the others are.
func (l *labels) misfit(w *word) (letter record.Out, bad bool) {
	if w == nil || w.forget || w.told {
		return letter, false
	}
	d := l.agreed.of(w.example.Model)
	if d == 0 || d == len(w.example.Vector) {
		return letter, false
	}
	w.told = true
	reason := fmt.Sprintf("the example has dimension %d, and the feed's vectors of model %s have %d", len(w.example.Vector), strconv.Quote(w.example.Model), d)
	l.log.Warn("an example of the labels topic does not fit the feed", "topic", l.topic, "partition", w.partition, "offset", w.offset, "id", w.id, "reason", reason)
	out := record.Teach(l.topic, &record.Example{ID: w.id, Stream: w.stream, Label: w.example.Label, Model: w.example.Model, Vector: w.example.Vector})
	raw := record.Raw{
		Topic: l.topic, Partition: int32(w.partition), Offset: w.offset, Key: out.Key, Value: out.Value, Headers: out.Headers, Time: w.at,
	}
	return record.DeadLetter(l.dead, &raw, reason, 0), true
}

// misfits are the dead letters of all examples that do not fit the feed and have none yet.
func (b *book) misfits(l *labels) (letters []record.Out) {
	for _, id := range b.order() {
		if letter, bad := l.misfit(standing(b.words[id])); bad {
			letters = append(letters, letter)
		}
	}
	return letters
}
