package recent

import (
	"context"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Change is an example of the labels topic that is new, has another label, or is forgotten.
type Change struct {
	ID     string // of the example
	Label  string // "": the example is forgotten
	Gone   bool   // its label is, too: its items do not go back to their answers
	Stream string // the example's; "": all streams
	Model  string // of the vector; "": any model of its dimension
	Vector []float32
	Knows  func(*Block) bool // whether the block was answered with the change in force; nil: none was
	Named  Named
}

// Named returns the name of a class in a stream; nil: the class itself.
type Named func(stream, class string) string

func (c *Change) named(stream, class string) string {
	if c.Named == nil {
		return class
	}
	return c.Named(stream, class)
}

// changing calls change with each item of the partition, and returns those that it says it has changed.
func (p *Partition) changing(change func(b *Block, i int, it *Item) bool) (out []Corrected) {
	p.store.mutex.Lock()
	defer p.store.mutex.Unlock()
	for _, b := range p.blocks {
		for i := range b.items {
			it := b.item(i)
			was := Corrected{Was: it.Label, WasConfidence: it.Confidence}
			if change(b, i, &it) {
				b.change(i, &it)
				was.Item = it
				out = append(out, was)
			}
		}
	}
	return out
}

// Rename calls the partition's items by the names now in force, and returns those whose label changed.
func (p *Partition) Rename(named Named) []Corrected {
	return p.changing(func(_ *Block, _ int, it *Item) bool {
		label := named(it.Stream, it.Class)
		if label == it.Label {
			return false
		}
		it.Label = label
		return true
	})
}

// SetLastKnown sets the labels of the block's items whose result ids are in labels, and deletes these from labels.
// It says whether one was "": that item was forgotten.
func (p *Partition) SetLastKnown(b *Block, labels map[string]string) (forgotten bool) {
	p.store.mutex.Lock()
	defer p.store.mutex.Unlock()
	for i := range b.items {
		id := b.text(i, ofID)
		if label, known := labels[id]; known {
			b.items[i].label, forgotten = b.number(label), forgotten || label == ""
			delete(labels, id)
		}
	}
	return forgotten
}

// Forget drops the partition's items whose class or label was forgotten, and returns them without labels.
// They can no longer be found. An item that was corrected since stays, but has no answer to go back to if
// that was forgotten.
func (p *Partition) Forget(forgotten func(b *Block, stream string, classes ...string) bool) []Corrected {
	return p.drop(func(b *Block, it *Item) bool {
		if forgotten(b, it.Stream, it.Class, it.Label) {
			return true
		}
		if it.Said != it.Class && forgotten(b, it.Stream, it.Said) {
			it.Said, it.SaidConfidence = "", 0
		}
		return false
	})
}

// DropForgotten drops the items without a label: those that went back to a forgotten answer, and those that
// SetLastKnown found to be forgotten.
func (p *Partition) DropForgotten() {
	p.drop(func(_ *Block, it *Item) bool { return it.Label == "" })
}

// drop drops the items that which selects, and returns them without labels.
func (p *Partition) drop(which func(*Block, *Item) bool) (out []Corrected) {
	p.store.mutex.Lock()
	defer p.store.mutex.Unlock()
	var blocks []*Block
	for _, b := range p.blocks {
		gone, any := make([]bool, len(b.items)), false
		for i := range b.items {
			it := b.item(i)
			gone[i] = which(b, &it)
			b.change(i, &it)
			any = any || gone[i]
		}
		if !any {
			blocks = append(blocks, b)
			continue
		}
		left := Block{dimension: b.dimension, Labels: b.Labels} // readers may hold the block itself
		for i := range b.items {
			it := b.item(i)
			if !gone[i] {
				left.keep(&it)
				left.codes = append(left.codes, b.codes[i*b.dimension:(i+1)*b.dimension]...)
				left.lengths = append(left.lengths, b.lengths[i])
				continue
			}
			was := Corrected{Item: it, Was: it.Label, WasConfidence: it.Confidence}
			was.Label, was.Confidence = "", 0
			out = append(out, was)
		}
		if len(left.items) > 0 {
			left.complete(new(slabs))
			blocks = append(blocks, &left)
		}
		p.bytes -= b.size - left.size
		p.store.bytes -= b.size - left.size
	}
	p.blocks = blocks
	return out
}

// Corrected is an item whose label a change replaces.
type Corrected struct {
	Item          // with its new label
	Was           string
	WasConfidence float64
	WasUnknown    bool // of what WouldCorrect returns
}

const (
	// Nearer: an item gets the label of a new example if its squared distance to it, between unit vectors, is below this
	// fraction of that to any other example ...
	Nearer = .75
	// ... and its own answer was less confident than this.
	unsure = .9
)

// Correction is a change on its way through the items of a partition. It corrects
//
//   - the example's own item;
//   - the items of the same track of its stream;
//   - the items with the same wrong answer: theirs is the one that the example's item had, was not given with
//     confidence, and they are clearly nearer to the example than to any other;
//   - if the example had another label before, or is forgotten, the items that were corrected by it. They go
//     back to their answers; they have no label if that, or the example's label, was forgotten: see
//     DropForgotten.
//
// Only the partition's owner uses it. No lock is held while items are compared, as only the owner changes
// them.
type Correction struct {
	partition *Partition
	lessons   []lesson // one, or none: nothing changes
	blocks    []*Block // whose items are left
	at        int      // the first one left of the first block
}

// Correction begins to apply a change to the items that the partition has.
func (p *Partition) Correction(c Change) *Correction {
	x := &Correction{partition: p, lessons: p.store.lessons([]Change{c})}
	if len(x.lessons) > 0 {
		x.blocks = p.Blocks()
	}
	return x
}

// Next corrects a few items, and returns those whose label changed. more: items are left.
func (c *Correction) Next(examples Examples) (out []Corrected, more bool) {
	var list pupils
	for len(c.blocks) > 0 && len(list) < together {
		if b := c.blocks[0]; c.at < len(b.items) {
			it := b.item(c.at)
			list.add(&c.lessons[0], b, c.at, &it)
			c.at++
		} else {
			c.blocks, c.at = c.blocks[1:], 0
		}
	}
	list.compare(examples)
	for i := range list {
		x := &list[i]
		if x.rivalled {
			continue
		}
		if x.Label != x.Was {
			out = append(out, x.Corrected)
		}
		c.partition.store.mutex.Lock()
		x.block.change(x.at, &x.Item)
		c.partition.store.mutex.Unlock()
	}
	return out, len(c.blocks) > 0
}

// WouldCorrect returns the items whose label one of the changes would replace, and changes nothing. Once ctx
// ends it returns an error. It may take long, as each item may be compared with every change and every
// example: it works on copies, so that the stage need not wait for the lock.
func (s *Store) WouldCorrect(
	ctx context.Context, changes []Change, examples Examples,
) (out []Corrected, err error) {
	lessons := s.lessons(changes)
	var items []Item
	var list pupils
	decide := func() {
		list.compare(examples)
		var last *pupil
		for i := range list {
			x := &list[i]
			if again := last != nil && last.block == x.block && last.at == x.at; !x.rivalled && !again {
				out, last = append(out, x.Corrected), x
			}
		}
		list = list[:0]
	}
	for _, b := range s.all() {
		s.mutex.RLock()
		items = items[:0]
		for i := range b.items {
			items = append(items, b.item(i))
		}
		s.mutex.RUnlock()
		for i := len(items) - 1; i >= 0; i-- {
			for l := range lessons {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				x := list.add(&lessons[l], b, i, &items[i])
				if x != nil && x.Label == x.Was {
					list = list[:len(list)-1]
				} else if x != nil && !x.compared {
					break // later changes do not matter
				}
			}
			if len(list) >= together {
				decide()
			}
		}
	}
	decide()
	return out, nil
}

// lesson is a change with the item that its example was made of.
type lesson struct {
	Change
	unit  []float32
	own   Item
	found bool   // own is known
	said  string // what own's answer is called
	wrong bool   // it is not what the example is called
	row   []float32
}

// lessons prepares changes, without those whose vector has no direction.
func (s *Store) lessons(changes []Change) (out []lesson) {
	ids := make([]string, len(changes))
	for i := range changes {
		ids[i] = changes[i].ID
	}
	kept := s.Find(ids...)
	for i := range changes {
		c := &changes[i]
		example, ok := unit(c.Vector)
		if !ok && c.Label != "" {
			continue
		}
		own, known := kept[c.ID]
		said := c.named(own.Stream, own.Said)
		out = append(out, lesson{
			Change: *c, unit: example, own: own.Item, row: make([]float32, len(example)),
			found: known && own.is(c.ID) && (c.Stream == "" || c.Stream == own.Stream),
			said:  said, wrong: said != c.named(own.Stream, c.Label),
		})
	}
	return out
}

// pupil is an item as a lesson changes it.
type pupil struct {
	lesson *lesson
	block  *Block
	at     int // in the block
	Corrected

	compared bool    // it stays as it is if another example ...
	within   float64 // ... is within this squared distance
	rivalled bool    // one is
}

type pupils []pupil

// together is how many items are compared with all examples in one pass, for which all of these are read.
const together = 16

// add adds item i of the block, as the lesson changes it; nil: that changes nothing.
func (p *pupils) add(l *lesson, b *Block, i int, it *Item) *pupil {
	if it.Taught && !it.is(l.ID) || l.Stream != "" && l.Stream != it.Stream || l.Knows != nil && l.Knows(b) {
		return nil
	}
	x := pupil{lesson: l, block: b, at: i}
	label, confidence, cause := l.Label, 1., l.ID
	switch {
	case l.Label == "" && (it.Cause == l.ID || it.is(l.ID)):
		if label, confidence, cause = it.Said, it.SaidConfidence, ""; l.Gone {
			label, confidence = "", 0
		}
	case l.Label == "":
		return nil
	case it.is(l.ID), it.Cause == l.ID:
	case it.is(it.Cause): // a person has labelled it
		return nil
	case l.found && l.own.Track != "" && it.Track == l.own.Track && it.Stream == l.own.Stream:
	default:
		distance, near := l.near(b, i, it)
		if !near {
			return nil
		}
		confidence = 1 - distance/2 // the cosine, as a rough confidence
		x.compared, x.within = true, distance/Nearer
	}
	if it.Cause == cause && it.Class == label {
		return nil
	}
	x.Corrected = Corrected{*it, it.Label, it.Confidence, it.Unknown}
	x.Cause = cause
	if x.Class != label {
		x.Class = label
		if label = l.named(it.Stream, label); label != it.Label {
			x.Label, x.Confidence = label, confidence
			x.Unknown = x.Unknown && cause == ""
		}
	}
	*p = append(*p, x)
	return &(*p)[len(*p)-1]
}

// near returns an item's squared distance to the example, and whether it has the wrong answer of the
// example's own item and is near enough to it, if it is nearer than to any other.
func (l *lesson) near(b *Block, i int, it *Item) (distance float64, near bool) {
	if !l.found || !l.wrong || it.SaidConfidence >= unsure || b.dimension != len(l.unit) ||
		l.Model != "" && l.Model != it.Model || l.named(it.Stream, it.Class) != l.said {
		return 0, false
	}
	b.decode(l.row, i)
	distance = max(0, 2-2*float64(kernel.Dot(l.unit, l.row)))
	return distance, distance < 2
}

// Blocks lists the partition's blocks, the oldest first; none if p is nil.
func (p *Partition) Blocks() []*Block {
	if p == nil {
		return nil
	}
	p.store.mutex.RLock()
	defer p.store.mutex.RUnlock()
	return append([]*Block(nil), p.blocks...)
}

// within says whether the direction of x is within a squared distance of a unit vector, given their inner
// product and |x|^2.
func within(product, square, squared float64) bool {
	least := 1 - squared/2 // cosine
	if least < 0 {
		return product >= 0 || product*product <= least*least*square
	}
	return product >= 0 && product*product >= least*least*square
}
