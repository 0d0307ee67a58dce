package state

import (
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// Keeper writes the state of one input partition for one owner: it numbers the commits, chooses keys, and knows which
// older records a commit has made superfluous. Commits are written one after the other; when one fails, the keeper is
// given up and its successor starts from what was written.
type Keeper struct {
	group     string
	topic     string // the input's
	out       string // the state's
	partition int32
	owner     Owner
	sequence  int64
	bounds    map[Owner]int64
	streams   map[Stream]*kept
	journals  []*written // still needed, in the order of their commits
	free      []int      // slots of journals no longer needed
	slots     int
	stale     []string // superfluous once the next commit is durable
	dead      []string // superfluous now: the next commit takes them away
	pending   pending
}

// kept is what the keeper knows of one stream.
type kept struct {
	version int64
	current snapshotKeys
	open    []uncovered // episodes that no snapshot covers yet
	named   int         // journals still needed that name the stream
}

type uncovered struct {
	last record.Place
	in   *written
}

// written is a journal record in the topic.
type written struct {
	key       string
	owner     Owner
	sequence  int64
	slot      int // -1: an earlier owner's
	uncovered int
	streams   []Stream
	at        record.Place // the latest close in it
}

type pending struct {
	journal   *written
	decided   record.Place
	answered  []Answered
	snapshots []*Snapshot
	keys      []snapshotKeys
}

// NewKeeper starts a new ownership of an input partition on what the one before has left.
func NewKeeper(group, topic, out string, partition int32, generation int32, r *Restored) *Keeper {
	k := &Keeper{
		group: group, topic: topic, out: out, partition: partition, owner: Owner{r.newest.Epoch + 1, generation},
		bounds: map[Owner]int64{}, streams: map[Stream]*kept{}, stale: r.stale,
	}
	for stream, keys := range r.keys {
		k.streams[stream] = &kept{version: r.Snapshots[stream].Version, current: keys}
	}
	if r.Journal == nil {
		return k
	}
	k.bounds[r.Journal.Owner] = r.Journal.Sequence
	for o, sequence := range r.bounds {
		k.bounds[o] = sequence
	}
	for _, j := range r.live {
		w := &written{key: j.key, owner: j.owner, sequence: j.sequence, slot: -1, at: record.Nowhere}
		for _, a := range j.entries {
			k.name(a.Stream, w)
			if a.At.After(w.at) {
				w.at = a.At
			}
			if a.Last.After(r.learned(a.Stream)) {
				k.open(a, w)
			}
		}
		k.journals = append(k.journals, w)
	}
	return k
}

// Owner is who writes.
func (k *Keeper) Owner() Owner { return k.owner }

func (k *Keeper) stream(s Stream) *kept {
	t := k.streams[s]
	if t == nil {
		t = &kept{}
		k.streams[s] = t
	}
	return t
}

func (k *Keeper) name(s Stream, w *written) {
	w.streams = append(w.streams, s)
	k.stream(s).named++
}

func (k *Keeper) open(a Answered, w *written) {
	t := k.stream(a.Stream)
	t.open = append(t.open, uncovered{a.Last, w})
	w.uncovered++
}

// Commit returns the records of the next commit: the journal first, so that a snapshot never stands without the journal
// of its commit, then the snapshots, then the tombstones of what earlier commits made superfluous. It fills in the
// journal's and the snapshots' numbers. Committed is called when all of it is durable, or when nothing of the next commit
// will be written before it is.
func (k *Keeper) Commit(j *Journal, snapshots []*Snapshot) []record.Out {
	k.sequence++
	j.Owner, j.Sequence = k.owner, k.sequence
	j.Earlier, j.Live = k.earlier(), nil
	for _, w := range k.journals {
		j.Live = append(j.Live, Earlier{w.owner, w.sequence})
	}
	slot := k.slots
	if n := len(k.free); n > 0 {
		slot = k.free[n-1]
		k.free = k.free[:n-1]
	} else {
		k.slots++
	}
	w := &written{
		owner: k.owner, sequence: k.sequence, slot: slot, at: record.Nowhere,
		key: place{group: k.group, topic: k.topic, owner: k.owner, kind: journalKind, slot: slot}.String(),
	}
	k.pending = pending{journal: w, decided: j.Decided, answered: j.Answered, snapshots: snapshots}
	records := []record.Out{k.record(w.key, j.encode())}
	again := map[string]bool{} // a slot may be written again before its older version was taken away
	for _, s := range snapshots {
		t := k.stream(s.Stream)
		s.Owner, s.Commit, s.Version = k.owner, k.sequence, t.version+1
		keys := snapshotKeys{owner: k.owner}
		if t.current.owner == k.owner && t.current.slot == 0 {
			keys.slot = 1 // never over the version that still has to count if this one is cut short
		}
		for i, value := range s.chunks() {
			key := place{group: k.group, topic: k.topic, owner: k.owner, kind: snapshotKind, slot: keys.slot, chunk: i, stream: s.Stream}.String()
			keys.keys = append(keys.keys, key)
			again[key] = true
			records = append(records, k.record(key, value))
		}
		k.pending.keys = append(k.pending.keys, keys)
	}
	for _, key := range k.dead {
		if !again[key] {
			records = append(records, k.record(key, nil))
		}
	}
	k.dead = nil
	return records
}

func (k *Keeper) record(key string, value []byte) record.Out {
	return record.Out{Topic: k.out, Partition: k.partition, Key: []byte(key), Value: value}
}

// earlier lists the owners of whom something is still needed.
func (k *Keeper) earlier() []Earlier {
	needed := map[Owner]bool{}
	for _, w := range k.journals {
		needed[w.owner] = true
	}
	for _, t := range k.streams {
		needed[t.current.owner] = true
	}
	var list []Earlier
	for o, sequence := range k.bounds {
		if needed[o] {
			list = append(list, Earlier{o, sequence})
		} else {
			delete(k.bounds, o)
		}
	}
	slices.SortFunc(list, func(a, b Earlier) int { return a.Owner.Compare(b.Owner) })
	return list
}

// Committed says that the last Commit is durable, as far as the next one is concerned.
func (k *Keeper) Committed() {
	p := k.pending
	k.pending = pending{}
	k.dead = append(k.dead, k.stale...)
	k.stale = nil
	k.journals = append(k.journals, p.journal)
	for _, a := range p.answered {
		if a.At.After(p.journal.at) {
			p.journal.at = a.At
		}
		k.name(a.Stream, p.journal)
		k.open(a, p.journal)
	}
	for i, s := range p.snapshots {
		t := k.stream(s.Stream)
		kept := map[string]bool{}
		for _, key := range p.keys[i].keys {
			kept[key] = true
		}
		for _, key := range t.current.keys {
			if !kept[key] {
				k.dead = append(k.dead, key)
			}
		}
		t.version, t.current = s.Version, p.keys[i]
		rest := t.open[:0]
		for _, u := range t.open {
			if u.last.After(s.Learned) {
				rest = append(rest, u)
			} else {
				u.in.uncovered--
			}
		}
		t.open = rest
	}
	kept := k.journals[:0]
	for _, w := range k.journals {
		if w == p.journal || w.uncovered > 0 || !p.decided.After(w.at) {
			kept = append(kept, w)
			continue
		}
		for _, s := range w.streams {
			k.streams[s].named--
		}
		if w.slot >= 0 {
			k.free = append(k.free, w.slot)
		} else {
			k.dead = append(k.dead, w.key)
		}
	}
	clear(k.journals[len(kept):])
	k.journals = kept
}

// Forget gives a stream up, such as one silent for too long: the next commit takes its snapshot away. It is refused while a
// journal that is needed names the stream, as the next owner would learn it again from there.
func (k *Keeper) Forget(s Stream) bool {
	t := k.streams[s]
	if t == nil {
		return true
	}
	if t.named > 0 {
		return false
	}
	k.dead = append(k.dead, t.current.keys...)
	delete(k.streams, s)
	return true
}
