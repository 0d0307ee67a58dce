package recent

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Change is an example of the labels topic that is new, has another label, or is forgotten.
type Change struct {
	ID     string // of the example
	Label  string // "": the example is forgotten
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
			it := &b.items[i]
			was := Corrected{Was: it.Label, WasConfidence: it.Confidence}
			if change(b, i, it) {
				was.Item = *it
				out = append(out, was)
			}
		}
	}
	return out
}

// Rename applies the names that were given or taken back since the partition's items were answered, and
// returns the items whose label changed. Their answers (Said) keep the names that were in force then.
func (p *Partition) Rename(named Named) []Corrected {
	return p.changing(func(_ *Block, _ int, it *Item) bool {
		label := named(it.Stream, it.Class)
		if label == it.Label || it.Taught {
			return false
		}
		it.Label = label
		return true
	})
}

// Recall sets the labels of the block's items whose result ids are in labels, and deletes these from labels.
// It says whether there were any.
func (p *Partition) Recall(b *Block, labels map[string]string) (any bool) {
	p.store.mutex.Lock()
	defer p.store.mutex.Unlock()
	for i := range b.items {
		it := &b.items[i]
		if label, known := labels[it.ID]; known {
			it.Label, any = label, true
			delete(labels, it.ID)
		}
	}
	return any
}

// Forget drops the partition's items that forgotten selects by stream and class, and returns them without
// labels. They can no longer be found.
func (p *Partition) Forget(forgotten func(b *Block, stream, class string) bool) (out []Corrected) {
	p.store.mutex.Lock()
	defer p.store.mutex.Unlock()
	var blocks []*Block
	for _, b := range p.blocks {
		concerned := func(it Item) bool { return forgotten(b, it.Stream, it.Class) }
		if !slices.ContainsFunc(b.items, concerned) {
			blocks = append(blocks, b)
			continue
		}
		left := *b // a copy, as readers may hold the block itself
		left.items, left.codes, left.lengths = nil, nil, nil
		for i := range b.items {
			it := &b.items[i]
			if !concerned(*it) {
				left.items = append(left.items, *it)
				left.codes = append(left.codes, b.codes[i*b.dimension:(i+1)*b.dimension]...)
				left.lengths = append(left.lengths, b.lengths[i])
				continue
			}
			gone := Corrected{Item: *it, Was: it.Label, WasConfidence: it.Confidence}
			gone.Label, gone.Confidence = "", 0
			out = append(out, gone)
		}
		left.bytes = b.bytes * int64(len(left.items)) / int64(len(b.items))
		p.bytes -= b.bytes - left.bytes
		p.store.bytes -= b.bytes - left.bytes
		if len(left.items) > 0 {
			blocks = append(blocks, &left)
		}
	}
	p.blocks = blocks
	return out
}

// Corrected is an item whose label a change replaces.
type Corrected struct {
	Item          // with its new label
	Was           string
	WasConfidence float64
}

const (
	// An item gets the label of a new example if its squared distance to it, between unit vectors, is below this
	// fraction of that to any other example ...
	nearer = .75
	// ... and its own answer was less confident than this.
	unsure = .9
)

// Correct applies a change to the partition's items and returns those whose label changed:
//
//   - the example's own item;
//   - the items of the same track of its stream;
//   - the items with the same wrong answer: theirs is the one that the example's item had, was not given with
//     confidence, and they are clearly nearer to the example than to any other;
//   - if the example had another label before, or is forgotten, the items that were corrected by it.
//
// rival says whether an example of another id than the change's lies within a squared distance of an item's
// unit vector. That may take long: the lock is not held meanwhile, as only the partition's owner changes
// items.
func (p *Partition) Correct(c Change, rival Rival) (out []Corrected) {
	lessons := p.store.lessons([]Change{c})
	if len(lessons) == 0 {
		return nil
	}
	for _, b := range p.Blocks() {
		for i := range b.items {
			it := &b.items[i]
			tried := *it
			if lessons[0].correct(b, i, &tried, rival) {
				out = append(out, Corrected{tried, it.Label, it.Confidence})
			}
			if tried.Class == it.Class && tried.Cause == it.Cause {
				continue
			}
			p.store.mutex.Lock()
			it.Class, it.Cause, it.Unknown = tried.Class, tried.Cause, tried.Unknown
			it.Label, it.Confidence = tried.Label, tried.Confidence
			p.store.mutex.Unlock()
		}
	}
	return out
}

// WouldCorrect returns the items whose label one of the changes would replace, and changes nothing. Once ctx
// ends it returns an error. It may take long, as each item may be compared with every change and every rival:
// it works on copies, so that the stage need not wait for the lock.
func (s *Store) WouldCorrect(
	ctx context.Context, changes []Change, rival Rival,
) (out []Corrected, err error) {
	lessons := s.lessons(changes)
	var items []Item
	var tried Item
	for _, b := range s.all() {
		s.mutex.RLock()
		items = append(items[:0], b.items...)
		s.mutex.RUnlock()
		for i := len(items) - 1; i >= 0; i-- {
			for l := range lessons {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				tried = items[i]
				if lessons[l].correct(b, i, &tried, rival) {
					out = append(out, Corrected{tried, items[i].Label, items[i].Confidence})
					break
				}
			}
		}
	}
	return out, nil
}

// Rival says whether another example than that of id is within a squared distance of an item's unit vector.
type Rival func(id string, it *Item, unit []float32, within float64) bool

// lesson is a change with the item that its example was made of.
type lesson struct {
	Change
	unit  []float32
	own   Item
	found bool // own is known
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
		out = append(out, lesson{
			Change: *c, unit: example, own: own.Item, row: make([]float32, len(example)),
			found: known && own.Name == c.ID && (c.Stream == "" || c.Stream == own.Stream),
		})
	}
	return out
}

// correct applies the change to it, which is item i of the block or a copy, and says whether its label
// changed.
func (l *lesson) correct(b *Block, i int, it *Item, rival Rival) bool {
	if it.Taught || l.Stream != "" && l.Stream != it.Stream || l.Knows != nil && l.Knows(b) {
		return false
	}
	label, confidence, cause := l.Label, 1., l.ID
	switch {
	case l.Label == "" && (it.Cause == l.ID || it.Name == l.ID):
		label, confidence, cause = it.Said, it.SaidConfidence, ""
	case l.Label == "":
		return false
	case it.Name == l.ID, it.Cause == l.ID:
	case it.Cause == it.Name: // a person has labelled it
		return false
	case l.found && l.own.Track != "" && it.Track == l.own.Track && it.Stream == l.own.Stream:
	default:
		distance, near := l.near(b, i, it, rival)
		if !near {
			return false
		}
		confidence = 1 - distance/2 // the cosine, as a rough confidence
	}
	it.Cause = cause
	if it.Class == label {
		return false
	}
	it.Class = label
	if label = l.named(it.Stream, label); label == it.Label {
		return false
	}
	it.Label, it.Confidence = label, confidence
	if cause != "" {
		it.Unknown = false
	}
	return true
}

// near returns an item's squared distance to the example, and whether it has the wrong answer of the
// example's own item and is clearly nearer to it than to any other.
func (l *lesson) near(b *Block, i int, it *Item, rival Rival) (distance float64, near bool) {
	if !l.found || it.Class != l.own.Said || l.own.Said == l.Label || it.SaidConfidence >= unsure ||
		b.dimension != len(l.unit) || l.Model != "" && l.Model != it.Model {
		return 0, false
	}
	b.decode(l.row, i)
	distance = max(0, 2-2*float64(kernel.Dot(l.unit, l.row)))
	return distance, distance < 2 && !rival(l.ID, it, l.row, distance/nearer)
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

// Within says whether the direction of x is within a squared distance of a unit vector.
func Within(unit, x []float32, squared float64) bool {
	if len(x) != len(unit) {
		return false
	}
	least := 1 - squared/2 // cosine
	dot, square := float64(kernel.Dot(unit, x)), float64(kernel.Dot(x, x))
	if least < 0 {
		return dot >= 0 || dot*dot <= least*least*square
	}
	return dot >= 0 && dot*dot >= least*least*square
}
