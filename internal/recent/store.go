// Package recent keeps the last answered items of a process in a bounded number of bytes: a code of one byte
// a dimension for the vector, and what was answered.
package recent

import (
	"slices"
	"sync"
	"time"
)

// Item is an answered item. Its strings are kept, its bytes are copied.
type Item struct {
	ID         string // of its result
	Name       string // under which it is taught
	Key        []byte // of its record
	Stream     string
	Track      string
	Model      string
	Label      string // what it is called now
	Confidence float64
	// Said is the answer that its result has; set by NewBlock.
	Said           string
	SaidConfidence float64
	Unknown        bool
	Taught         bool // it carried its label
	Time           time.Time
	Attributes     []byte // JSON; longer than longestAttributes they are left out

	cause string // the example by which it is called something else; "": none
	class string // what it is called where no name was given since
}

// Earlier is an item that another process has answered.
type Earlier struct {
	Item
	Class   string    // what it is called where no name was given since
	Cause   string    // the example by which it is called something else than Said; "": none
	Written time.Time // when its result was
}

// longestAttributes is enough for a small picture in the attributes themselves.
const longestAttributes = 4 << 10

// Store holds the items of a process, partition by partition. It is safe for any number of goroutines.
type Store struct {
	mutex      sync.RWMutex
	most       int64 // bytes
	bytes      int64
	partitions map[string]*Partition
}

// New makes a store that holds no more than so many bytes.
func New(most int64) *Store { return &Store{most: most, partitions: map[string]*Partition{}} }

// Partition holds the items of one partition, in the order in which they were answered.
type Partition struct {
	store  *Store
	name   string
	blocks []*Block
	bytes  int64
}

// Open begins a partition of which nothing is known. What is kept under its name is forgotten.
func (s *Store) Open(name string) *Partition {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.forget(name)
	p := &Partition{store: s, name: name}
	s.partitions[name] = p
	return p
}

// Keep forgets all partitions but those of these names: the others belong to other processes now.
func (s *Store) Keep(names []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for name := range s.partitions {
		if !slices.Contains(names, name) {
			s.forget(name)
		}
	}
}

// forget is called under the lock.
func (s *Store) forget(name string) {
	if p := s.partitions[name]; p != nil {
		s.bytes -= p.bytes
		p.blocks, p.bytes = nil, 0
		delete(s.partitions, name)
	}
}

// Add keeps the items of an episode. Beyond the store's bytes the oldest items of the partition that holds
// most go first, so that a busy partition does not push out what a quiet one has. A block that is larger than the
// store is not kept. Nothing happens where p or b is nil.
func (p *Partition) Add(b *Block) {
	if p == nil || b == nil {
		return
	}
	s := p.store
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.partitions[p.name] != p || b.bytes > s.most {
		return
	}
	p.blocks = append(p.blocks, b)
	p.bytes += b.bytes
	s.bytes += b.bytes
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

// Before keeps items that were answered before all others of the partition, in that order, as far as there is
// room. Their vectors are not known. labels are those that they are called by.
func (p *Partition) Before(items []Earlier, labels []int64) {
	const together = 64
	var blocks []*Block
	for part := range slices.Chunk(items, together) {
		list := make([]Item, len(part))
		for i := range part {
			list[i] = part[i].Item
		}
		b := NewBlock(list, nil)
		b.Labels = labels
		for i := range part {
			it := &b.items[i]
			it.Said, it.SaidConfidence = part[i].Said, part[i].SaidConfidence
			it.class, it.cause = part[i].Class, part[i].Cause
		}
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
		if s.bytes+last.bytes > s.most {
			return
		}
		p.blocks = slices.Insert(p.blocks, 0, last)
		p.bytes += last.bytes
		s.bytes += last.bytes
		blocks = blocks[:len(blocks)-1]
	}
}

// Most is how many bytes the store may hold.
func (s *Store) Most() int64 { return s.most }

// Last forgets the oldest blocks as long as others hold so many items.
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

// dropOldest is called under the lock.
func (p *Partition) dropOldest() {
	oldest := p.blocks[0]
	p.blocks[0] = nil
	p.blocks = p.blocks[1:]
	p.bytes -= oldest.bytes
	p.store.bytes -= oldest.bytes
}

// Bytes is what the store holds now.
func (s *Store) Bytes() int64 {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	return s.bytes
}

// Reach says how many items are kept and the earliest event time among the items that each partition has kept
// longest: what came before it is not known.
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
			if t := p.blocks[0].items[i].Time; since.IsZero() || t.Before(since) {
				since = t
			}
		}
	}
	return items, since
}

// all lists the blocks of all partitions, the latest of each partition first, partitions by name.
func (s *Store) all() []*Block {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	var blocks []*Block
	for _, p := range s.byName() {
		for i := len(p.blocks) - 1; i >= 0; i-- {
			blocks = append(blocks, p.blocks[i])
		}
	}
	return blocks
}

// Each calls see with every item, under the store's lock. see must not keep or change it.
func (s *Store) Each(see func(*Item)) {
	blocks := s.all()
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	for _, b := range blocks {
		for i := range b.items {
			see(&b.items[i])
		}
	}
}

// Cause is the example by which the item is called something else than it was answered; "": none.
func (i *Item) Cause() string { return i.cause }

// Find returns the latest item of that result or name, with a vector of its direction; false where it is not
// kept (any more), or without its vector. The vector is near the one that came: a byte a dimension.
func (s *Store) Find(id string) (Item, []float32, bool) {
	b, i := s.find(id)
	if b == nil || b.dimension == 0 {
		return Item{}, nil, false
	}
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	vector := make([]float32, b.dimension)
	b.decode(vector, i)
	return b.items[i], vector, true
}

// find is where the latest item of that result or name is kept; nil: nowhere.
func (s *Store) find(id string) (*Block, int) {
	for _, b := range s.all() {
		for i := len(b.items) - 1; i >= 0; i-- {
			if it := &b.items[i]; it.ID == id || it.Name == id { // which never change
				return b, i
			}
		}
	}
	return nil, 0
}
