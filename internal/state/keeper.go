package state

import (
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// Keeper writes the state of one input partition for one owner: it numbers the commits, chooses keys, and
// knows which older records a commit has made superfluous. Commits are written one after the other; when one
// fails, the keeper is given up and its successor starts from what was written.
type Keeper struct {
	group     string
	topic     string // the input's
	out       string // the state's
	partition int32
	owner     Owner
	sequence  int64
	bounds    map[Owner]int64
	streams   map[Stream]*kept
	snapshots map[Owner]int // how many streams' snapshots are an owner's
	left      []Owner       // whose records cannot be read, and count for a build that can
	journals  []*written    // still needed, in the order in which they were written
	said      Journal       // where the last journal says that reading starts again
	free      []int         // slots of journals no longer needed
	slots     int
	stale     []string // superfluous once the next commit is durable
	dead      []string // superfluous now: the next commit takes them away
	pending   pending
	largest   int // bytes of a record, key and value, that the state topic takes
}

// kept is what the keeper knows of one stream.
type kept struct {
	version int64
	current snapshotKeys
	learned record.Position // up to where its snapshot has
	open    []uncovered     // episodes that no snapshot covers yet
	named   int             // journals still needed that name the stream
}

type uncovered struct {
	last record.Position
	in   *written
}

// written is a journal record in the topic.
type written struct {
	key       string
	owner     Owner
	sequence  int64
	slot      int // -1: an earlier owner's
	uncovered int
	answered  []Answered      // what it says
	size      int             // of its value, near enough
	at        record.Position // the latest close in it
}

type pending struct {
	journals  []*written
	carried   map[*written]bool // older ones whose entries these repeat
	decided   record.Position
	snapshots []*Snapshot
	keys      []snapshotKeys
}

// Bounds of the journal, so that nothing in a commit grows with what senders invent, with an outage or with
// uptime.
const (
	journalBytes = 256 << 10 // of one record's entries
	leastChunk   = 1 << 10   // of a snapshot's value
	mostJournals = 128       // that may be needed at a time; beyond, the smallest are written again as one
	mostEarlier  = 64        // owners whose snapshots may be needed at a time; see Outdated
)

// NewKeeper starts a new ownership of an input partition on what the one before has left.
func NewKeeper(group, topic, out string, partition int32, generation int32, r *Restored) *Keeper {
	k := &Keeper{
		group: group, topic: topic, out: out, partition: partition, owner: Owner{r.newest.Epoch + 1, generation},
		bounds: map[Owner]int64{}, streams: map[Stream]*kept{}, snapshots: map[Owner]int{}, stale: r.stale,
		largest: 2 * chunkBytes,
	}
	for stream, keys := range r.keys {
		k.streams[stream] = &kept{
			version: r.Snapshots[stream].Version, current: keys,
			learned: r.Snapshots[stream].Learned,
		}
		k.snapshots[keys.owner]++
	}
	if r.Journal == nil {
		return k
	}
	k.left = slices.SortedFunc(maps.Keys(r.left), func(a, b Owner) int { return b.Compare(a) })
	k.left = k.left[:min(len(k.left), mostEarlier/2)]
	k.said = *r.Journal
	k.bounds[r.Journal.Owner] = r.Journal.Sequence
	for o, sequence := range r.bounds {
		k.bounds[o] = sequence
	}
	for _, j := range r.live {
		w := &written{key: j.key, owner: j.owner, sequence: j.sequence, slot: -1, at: record.NoPosition}
		k.add(w, j.entries, r.learned)
	}
	return k
}

// Succeed makes k the keeper of the partition's next owner, in a later generation of the group. It may be
// called where all that k has written is durable and nobody else has owned the partition since. The owner is
// another one all the same: one that was put aside in between and has read the same state must not write over
// this one's.
func (k *Keeper) Succeed(generation int32) {
	if k.sequence > 0 {
		k.bounds[k.owner] = k.sequence
	}
	for _, w := range k.journals {
		w.slot = -1
	}
	for _, slot := range k.free {
		k.dead = append(k.dead, k.journalKey(slot))
	}
	k.free, k.slots = nil, 0
	k.owner, k.sequence = Owner{k.owner.Epoch + 1, generation}, 0
}

func (k *Keeper) journalKey(slot int) string {
	return stateKey{group: k.group, topic: k.topic, owner: k.owner, kind: journalKind, slot: slot}.String()
}

// Fit makes every record from now on one that the state topic takes: of at most so many bytes, key and
// value. What a record needs at least, some 8 KiB, it takes all the same. 0: the limit is not known.
func (k *Keeper) Fit(largest int) {
	if largest > 0 {
		k.largest = largest
	}
}

// Start says where the first owner of a partition starts to read, before its first commit.
func (k *Keeper) Start(from record.Position) {
	if k.said.Owner == (Owner{}) {
		k.said.From, k.said.Decided, k.said.Rejected = from, from, from.Offset
	}
}

// Anew says that the input topic was deleted and made again: positions that earlier owners wrote down say
// nothing any more. What the streams remember stays. It comes before Start.
func (k *Keeper) Anew() {
	for _, w := range k.journals {
		k.drop(w)
	}
	k.journals = nil
	for _, t := range k.streams {
		t.open, t.learned = nil, record.NoPosition
	}
	k.said = Journal{Since: k.owner.Epoch}
}

// add takes a journal in that is durable. Of its entries those count as open that their streams have not
// learned in a snapshot.
func (k *Keeper) add(w *written, entries []Answered, learned func(Stream) record.Position) {
	w.answered = entries
	for i := range entries {
		a := &entries[i]
		w.size += a.size()
		t := k.stream(a.Stream)
		t.named++
		if a.At.After(w.at) {
			w.at = a.At
		}
		if a.Last.After(learned(a.Stream)) {
			t.open = append(t.open, uncovered{a.Last, w})
			w.uncovered++
		}
	}
	k.journals = append(k.journals, w)
}

// drop forgets a journal that is not needed any more; the next commit takes it away, or writes over it.
func (k *Keeper) drop(w *written) {
	for i := range w.answered {
		k.streams[w.answered[i].Stream].named--
	}
	if w.slot >= 0 {
		k.free = append(k.free, w.slot)
	} else {
		k.dead = append(k.dead, w.key)
	}
}

// needed says whether a journal still tells the next owner anything.
func (w *written) needed(decided record.Position) bool {
	return w.uncovered > 0 || !decided.After(w.at)
}

func (k *Keeper) stream(s Stream) *kept {
	t := k.streams[s]
	if t == nil {
		t = &kept{learned: record.NoPosition}
		k.streams[s] = t
	}
	return t
}

// Commit returns the records of the next commit: the journal first, so that a snapshot never stands without
// the journal of its commit, then the snapshots, then the tombstones of what earlier commits made
// superfluous. It fills in the journal's and the snapshots' numbers. Committed is called when all of it is
// durable, or when nothing of the next commit will be written before it is.
//
// Where many episodes were answered, the journal is several records. All but the last repeat where reading
// started again before this commit, so that each prefix of them is a state that the next owner can start
// from.
func (k *Keeper) Commit(j *Journal, snapshots []*Snapshot) []record.Out {
	k.pending = pending{decided: j.Decided, snapshots: snapshots, carried: map[*written]bool{}}
	answered := append(k.carry(), j.Answered...)
	earlier := k.earlier()
	var records []record.Out
	for {
		n := fitting(answered, min(journalBytes, k.largest/2))
		part := k.said
		if n == len(answered) {
			part = *j
			part.Since = k.said.Since
		}
		part.Answered, answered = answered[:n:n], answered[n:]
		records = append(records, k.journal(&part, earlier))
		if len(answered) == 0 {
			j.Since = part.Since
			j.Owner, j.Sequence, j.Earlier, j.Live = part.Owner, part.Sequence, part.Earlier, part.Live
			k.said = *j
			k.said.Answered, k.said.Live, k.said.Earlier = nil, nil, nil
			break
		}
	}
	again := map[string]bool{} // a slot may be written again before its older version was taken away
	for _, s := range snapshots {
		t := k.stream(s.Stream)
		s.Owner, s.Commit, s.Version = k.owner, k.sequence, t.version+1
		keys := snapshotKeys{owner: k.owner}
		if t.current.owner == k.owner && t.current.slot == 0 {
			keys.slot = 1 // never over the version that still has to count if this one is cut short
		}
		at := stateKey{
			group: k.group, topic: k.topic, owner: k.owner, kind: snapshotKind, slot: keys.slot, stream: s.Stream,
		}
		const around = 160 // bytes of a record beside its key and value, and the digits of the chunk
		room := k.largest - len(at.String()) - around
		for i, value := range s.chunks(max(min(room, chunkBytes), leastChunk)) {
			at.chunk = i
			key := at.String()
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

// fitting is how many of the episodes go into so many bytes of one record, at least one where there are any.
func fitting(answered []Answered, most int) int {
	size := 0
	for i := range answered {
		if size += answered[i].size(); size > most && i > 0 {
			return i
		}
	}
	return len(answered)
}

// journal is the next journal record.
func (k *Keeper) journal(j *Journal, earlier []Earlier) record.Out {
	k.sequence++
	j.Owner, j.Sequence, j.Earlier, j.Live = k.owner, k.sequence, earlier, nil
	if j.Input == "" {
		j.Input = k.said.Input
	}
	for _, list := range [][]*written{k.journals, k.pending.journals} {
		for _, w := range list {
			j.Live = append(j.Live, Earlier{w.owner, w.sequence})
		}
	}
	slot := k.slots
	if n := len(k.free); n > 0 {
		slot = k.free[n-1]
		k.free = k.free[:n-1]
	} else {
		k.slots++
	}
	w := &written{
		owner: k.owner, sequence: k.sequence, slot: slot, at: record.NoPosition, answered: j.Answered,
		key: k.journalKey(slot),
	}
	k.pending.journals = append(k.pending.journals, w)
	return k.record(w.key, j.encode())
}

// earlier lists the owners of whom something is still needed.
func (k *Keeper) earlier() []Earlier {
	needed := map[Owner]bool{}
	for _, w := range k.journals {
		needed[w.owner] = true
	}
	for o := range k.snapshots {
		needed[o] = true
	}
	for _, o := range k.left {
		needed[o] = true
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
	old := k.journals
	k.journals = make([]*written, 0, len(old)+len(p.journals))
	for _, w := range old {
		if !p.carried[w] {
			k.journals = append(k.journals, w)
			continue
		}
		for i := range w.answered { // its entries go with the journals that repeat them
			t := k.streams[w.answered[i].Stream]
			t.open = slices.DeleteFunc(t.open, func(u uncovered) bool { return u.in == w })
		}
		k.drop(w)
	}
	for _, w := range p.journals {
		k.add(w, w.answered, func(s Stream) record.Position { return k.stream(s).learned })
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
		k.gone(t)
		t.version, t.current, t.learned = s.Version, p.keys[i], s.Learned
		k.snapshots[t.current.owner]++
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
	newest := p.journals[len(p.journals)-1]
	for _, w := range k.journals {
		if w == newest || w.needed(p.decided) {
			kept = append(kept, w)
		} else {
			k.drop(w)
		}
	}
	clear(k.journals[len(kept):])
	k.journals = kept
}

// gone says that a stream's snapshot counts no more.
func (k *Keeper) gone(t *kept) {
	if len(t.current.keys) == 0 {
		return
	}
	if k.snapshots[t.current.owner]--; k.snapshots[t.current.owner] == 0 {
		delete(k.snapshots, t.current.owner)
	}
}

// Leave says that a stream's snapshot cannot be read after all: it stays, for a build that can, and the
// stream's next one is another.
func (k *Keeper) Leave(s Stream) {
	t := k.stream(s)
	if len(t.current.keys) > 0 && len(k.left) < mostEarlier && !slices.Contains(k.left, t.current.owner) {
		k.left = append(k.left, t.current.owner)
	}
	k.gone(t)
	t.current = snapshotKeys{}
}

// Forget gives a stream up, such as one silent for too long: the next commit takes its snapshot away. It is
// refused while a journal that is needed names the stream, as the next owner would learn it again from there.
func (k *Keeper) Forget(s Stream) bool {
	t := k.streams[s]
	if t == nil {
		return true
	}
	if t.named > 0 {
		return false
	}
	k.dead = append(k.dead, t.current.keys...)
	k.gone(t)
	delete(k.streams, s)
	return true
}
