// Package recent keeps the last answered items of a process in a bounded number of bytes: their answers, and
// their vectors quantised to a byte a dimension.
package recent

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Item is an answered item. A store copies its texts, all but those of labels.
type Item struct {
	ID         string // of its result
	Name       string // key under which it is taught
	ItemID     string // the sender's id of it; "": none
	Key        []byte // of its record
	Stream     string
	Track      string
	Model      string
	Label      string // what its class is called now
	Class      string // before names, now; "" for NewBlock: the label
	Confidence float64
	// Said is the class of its answer; "": that was forgotten. NewBlock sets it.
	Said           string
	SaidConfidence float64
	Unknown        bool
	Taught         bool // its record carried a label
	Time           time.Time
	Attributes     []byte // JSON; dropped if longer than longestAttributes

	Cause string // id of the example that changed its class; "": none
}

// is says whether a label under a key is the item's own: the key may be that of its place, or the bare id of its result.
func (it *Item) is(key string) bool {
	return it.Name == key || it.ID == key || record.ResultOf(key) == it.ID
}

// longestAttributes is in bytes, enough for a small picture in the attributes themselves.
const longestAttributes = 4 << 10

// Store holds the items of a process by partition. It is safe for concurrent use.
type Store struct {
	mutex      sync.RWMutex
	most       int64 // bytes
	bytes      int64
	partitions map[string]*Partition
	kept       int // partitions that the last Keep named
}

// New returns an empty store that holds at most so many bytes.
func New(most int64) *Store { return &Store{most: most, partitions: map[string]*Partition{}} }

// Partition holds the items of one partition, in the order in which they were answered.
type Partition struct {
	store  *Store
	name   string
	blocks []*Block
	bytes  int64
	slabs  slabs // of Block alone
}

// Open begins an empty partition. Items kept under its name are dropped.
func (s *Store) Open(name string) *Partition {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.forget(name)
	p := &Partition{store: s, name: name, slabs: slabs{each: slabBytes}}
	s.partitions[name] = p
	return p
}

// Keep drops all partitions but those with these names: the others are assigned to other processes now.
func (s *Store) Keep(names []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kept = len(names)
	for name := range s.partitions {
		if !slices.Contains(names, name) {
			s.forget(name)
		}
	}
}

// forget drops a partition. It is called under the lock.
func (s *Store) forget(name string) {
	if p := s.partitions[name]; p != nil {
		s.bytes -= p.bytes
		p.blocks, p.bytes = nil, 0
		delete(s.partitions, name)
	}
}

// Add keeps the items of an episode. If the store exceeds its bytes, the oldest blocks of the largest
// partition are dropped first, so that a busy partition does not evict the items of a quiet one. A block that
// is larger than the store is not kept. Add does nothing if p or b is nil, or p is no longer open.
func (p *Partition) Add(b *Block) {
	if p == nil || b == nil {
		return
	}
	s := p.store
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.partitions[p.name] != p || b.size > s.most {
		return
	}
	p.blocks = append(p.blocks, b)
	p.bytes += b.size
	s.bytes += b.size
	for s.bytes > s.most {
		fullest := p
		for _, other := range s.partitions {
			if other.bytes > fullest.bytes || other.bytes == fullest.bytes && other.name < fullest.name {
				fullest = other
			}
		}
		fullest.dropOldest()
	}
}

// Before adds items that were answered before all others of the partition, in that order: the latest that fit
// without dropping others. It keeps what they Said and their Class. Their vectors are not known. labels
// becomes their blocks' Labels.
func (p *Partition) Before(items []Item, labels []int64) {
	const together = 64
	var blocks []*Block
	for part := range slices.Chunk(items, together) {
		b := NewBlock(part, nil)
		b.Labels = labels
		blocks = append(blocks, b)
	}
	s := p.store
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.partitions[p.name] != p {
		return
	}
	for len(blocks) > 0 {
		last := blocks[len(blocks)-1]
		if s.bytes+last.size > s.most {
			return
		}
		p.blocks = slices.Insert(p.blocks, 0, last)
		p.bytes += last.size
		s.bytes += last.size
		blocks = blocks[:len(blocks)-1]
	}
}

// Share is the part of the store's limit, in bytes, that each partition has if all that Keep named are alike.
func (s *Store) Share() int64 {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.most / int64(max(1, s.kept))
}

// Last drops the oldest blocks while the others hold at least so many items.
func (p *Partition) Last(items int) {
	p.store.mutex.Lock()
	defer p.store.mutex.Unlock()
	held := 0
	for _, b := range p.blocks {
		held += len(b.items)
	}
	for held > 0 && held-len(p.blocks[0].items) >= items {
		held -= len(p.blocks[0].items)
		p.dropOldest()
	}
}

// dropOldest drops the partition's oldest block. It is called under the lock.
func (p *Partition) dropOldest() {
	oldest := p.blocks[0]
	p.blocks[0] = nil
	p.blocks = p.blocks[1:]
	p.bytes -= oldest.size
	p.store.bytes -= oldest.size
}

// Bytes is the size of everything in the store.
func (s *Store) Bytes() int64 {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.bytes
}

// Reach returns the number of items, and the earliest event time in the oldest block of any partition:
// nothing is known of the time before that.
func (s *Store) Reach() (items int, since time.Time) {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	for _, p := range s.partitions {
		for _, b := range p.blocks {
			items += len(b.items)
		}
		if len(p.blocks) == 0 {
			continue
		}
		for i := range p.blocks[0].items {
			if t := p.blocks[0].items[i].time(); since.IsZero() || t.Before(since) {
				since = t
			}
		}
	}
	return items, since
}

// all lists the blocks of all partitions: partitions by name, the latest block of each first.
func (s *Store) all() []*Block {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	var blocks []*Block
	for _, name := range slices.Sorted(maps.Keys(s.partitions)) {
		p := s.partitions[name]
		for i := len(p.blocks) - 1; i >= 0; i-- {
			blocks = append(blocks, p.blocks[i])
		}
	}
	return blocks
}

// each yields the items of all partitions by block, the latest of each first, under the store's lock.
func (s *Store) each() iter.Seq2[*Block, int] {
	return func(yield func(*Block, int) bool) {
		blocks := s.all()
		s.mutex.RLock()
		defer s.mutex.RUnlock()
		for _, b := range blocks {
			for i := len(b.items) - 1; i >= 0; i-- {
				if !yield(b, i) {
					return
				}
			}
		}
	}
}

// Each calls see with every item, under the store's lock. see must neither keep nor change it.
func (s *Store) Each(see func(*Item)) {
	for b, i := range s.each() {
		it := b.item(i)
		see(&it)
	}
}

// Found is a kept item.
type Found struct {
	Item
	Vector []float32 // unit vector of its code, approximate; nil: not kept
}

// Called returns the latest items, up to most, that their senders call by an id.
func (s *Store) Called(itemID string, most int) (found []Found) {
	for b, i := range s.each() {
		if len(found) < most && itemID != "" && b.text(i, ofItemID) == itemID {
			found = append(found, Found{b.item(i), b.unit(i)})
		}
	}
	return found
}

// Find returns the item of each id: a result's, or a key under which an item is taught. It sees every kept
// item once, however many ids there are.
func (s *Store) Find(ids ...string) map[string]Found {
	wanted := make(map[string][]string, len(ids)) // ids, by the text that an item has
	for _, id := range ids {
		text := cmp.Or(record.ResultOf(id), id)
		wanted[text] = append(wanted[text], id)
	}
	found := map[string]Found{}
	for b, i := range s.each() {
		for _, text := range []string{b.text(i, ofID), b.text(i, ofName)} {
			for _, id := range wanted[text] {
				found[id] = Found{b.item(i), b.unit(i)}
			}
			delete(wanted, text)
		}
		if len(wanted) == 0 {
			break
		}
	}
	return found
}

// unit returns the unit vector of item i; nil if its vector is not kept.
func (b *Block) unit(i int) []float32 {
	if b.dimension == 0 {
		return nil
	}
	vector := make([]float32, b.dimension)
	b.decode(vector, i)
	return vector
}
