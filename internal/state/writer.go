package state

import (
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// Writer writes the state of one input partition for one owner: it numbers the commits, chooses keys, and
// tracks which older records a commit has made superfluous. Commits are written one after the other. If one
// fails, the caller must drop the writer, and make the next one from what was written.
type Writer struct {
	group            string
	topic            string // the input's
	out              string // the state's
	partition        int32
	owner            Owner
	sequence         int64
	bounds           map[Owner]int64
	streams          map[record.StreamID]*inTopic
	snapshots        map[Owner]int // number of streams whose snapshot is of the owner
	unreadableOwners []Owner       // owners of records that this build cannot read, but another may
	journals         []*written    // still needed, in the order of writing
	lastJournal      Journal       // the last journal: where reading starts again
	free             []int         // slots of journals no longer needed
	slots            int
	version          int64    // of its last snapshot
	superfluousNext  []string // keys, superfluous once the next commit is durable
	superfluous      []string // keys, superfluous now: the next commit writes their tombstones
	pending          pending
	largest          int   // bytes of a record, key and value, that the state topic takes
	reached          int64 // offset behind the last records that are known to be durable; of Durable alone
}

// inTopic is one stream's state in the topic.
type inTopic struct {
	current snapshotKeys
	stretch *stretch        // of current; nil: not known
	learned record.Position // the last position covered by its snapshot
	open    []uncovered     // episodes that no snapshot covers yet
	entries int             // entries of needed journals for the stream
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
	episodes  []Episode       // its entries
	size      int             // of its value, approximately
	at        record.Position // latest position that closed one of its episodes
}

type pending struct {
	journals  []*written
	repeated  map[*written]bool // older journals whose entries these repeat
	decided   record.Position
	snapshots []*Snapshot
	keys      []snapshotKeys
	stretch   *stretch
}

// Bounds of a commit's records, so that they do not grow with names that senders invent, with the length of
// an outage, or with uptime.
const (
	journalBytes = 256 << 10 // of one record's entries
	leastChunk   = 1 << 10   // of a snapshot's value
	mostJournals = 128       // needed at a time; beyond that, the smallest are merged
	mostEarlier  = 64        // owners whose snapshots may be needed at a time; see Outdated
)

// NewWriter starts a new ownership of an input partition from the state that the previous owner left. owner has all but
// the epoch.
func NewWriter(group, topic, out string, partition int32, owner Owner, r *Restored) *Writer {
	owner.Epoch = r.newest.Epoch + 1
	k := &Writer{
		group: group, topic: topic, out: out, partition: partition, owner: owner,
		bounds: map[Owner]int64{}, streams: map[record.StreamID]*inTopic{}, snapshots: map[Owner]int{}, superfluousNext: r.superfluous,
		largest: 2 * chunkBytes, reached: r.end,
	}
	for stream, keys := range r.keys {
		k.streams[stream] = &inTopic{current: keys, stretch: r.stretches[stream], learned: r.Snapshots[stream].Learned}
		k.snapshots[keys.owner]++
	}
	if r.Journal == nil {
		return k
	}
	k.unreadableOwners = slices.SortedFunc(maps.Keys(r.unreadableOwners), func(a, b Owner) int { return b.Compare(a) })
	k.unreadableOwners = k.unreadableOwners[:min(len(k.unreadableOwners), mostEarlier/2)]
	k.lastJournal = *r.Journal
	k.bounds[r.Journal.Owner] = r.Journal.Sequence
	for o, sequence := range r.bounds {
		k.bounds[o] = sequence
	}
	for _, j := range r.live {
		w := &written{key: j.key, owner: j.Owner, sequence: j.Sequence, slot: -1, at: record.NoPosition}
		k.add(w, j.Episodes, r.learned)
	}
	return k
}

// Succeed makes k the writer of the partition's next owner, in a later generation of the group; owner has all but the
// epoch. It may be called only if all that k has written is durable and no other process has owned the partition
// since. The epoch still grows, because another owner may have read the same state and lost the partition again before
// it wrote: its late writes must not overwrite this owner's.
func (k *Writer) Succeed(owner Owner) {
	if k.sequence > 0 {
		k.bounds[k.owner] = k.sequence
	}
	for _, w := range k.journals {
		w.slot = -1
	}
	for _, slot := range k.free {
		k.superfluous = append(k.superfluous, k.journalKey(slot))
	}
	k.free, k.slots = nil, 0
	owner.Epoch = k.owner.Epoch + 1
	k.owner, k.sequence = owner, 0
}

func (k *Writer) journalKey(slot int) string {
	return stateKey{group: k.group, topic: k.topic, owner: k.owner, kind: journalKind, slot: slot}.String()
}

// Fit limits the records from now on to so many bytes of key and value, the most that the state topic takes.
// 0: the limit is not known, and stays as it is. Under about 8 KiB the limit may be exceeded, by what a
// record needs at least.
func (k *Writer) Fit(largest int) {
	if largest > 0 {
		k.largest = largest
	}
}

// Start sets where the first owner of a partition starts to read. Call it before the first commit; it does
// nothing if an earlier owner has committed.
func (k *Writer) Start(from record.Position) {
	if k.lastJournal.Owner == (Owner{}) {
		k.lastJournal.From, k.lastJournal.Decided, k.lastJournal.Rejected = from, from, from.Offset
	}
}

// Anew must be called, before Start, if the input topic was deleted and created again: positions written by
// earlier owners are dropped as invalid. The streams' memories stay.
func (k *Writer) Anew() {
	for _, w := range k.journals {
		k.drop(w)
	}
	k.journals = nil
	for _, t := range k.streams {
		t.open, t.learned = nil, record.NoPosition
	}
	k.lastJournal = Journal{Since: k.owner.Epoch}
}

// add registers a durable journal. Its entries count as open unless a snapshot of their stream covers them.
func (k *Writer) add(w *written, entries []Episode, learned func(record.StreamID) record.Position) {
	w.episodes = entries
	for i := range entries {
		a := &entries[i]
		w.size += a.size()
		t := k.stream(a.Stream)
		t.entries++
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

// drop releases a journal that is no longer needed. A commit deletes its record or overwrites it.
func (k *Writer) drop(w *written) {
	for i := range w.episodes {
		k.streams[w.episodes[i].Stream].entries--
	}
	if w.slot >= 0 {
		k.free = append(k.free, w.slot)
	} else {
		k.superfluous = append(k.superfluous, w.key)
	}
}

// needed says whether the next owner still needs the journal.
func (w *written) needed(decided record.Position) bool {
	return w.uncovered > 0 || !decided.After(w.at)
}

func (k *Writer) stream(s record.StreamID) *inTopic {
	t := k.streams[s]
	if t == nil {
		t = &inTopic{learned: record.NoPosition}
		k.streams[s] = t
	}
	return t
}

// Commit returns the records of the next commit: the journal first, so that a snapshot never exists without
// the journal of its commit, then the snapshots, then the tombstones of records that earlier commits made
// superfluous. It sets owner and numbers of the journal and the snapshots. Call Committed when all of it is
// durable, or when nothing of the next commit will be written before it is.
//
// If many episodes were answered, the journal is several records. All but the last repeat the reading
// position of the previous commit, so that the next owner can start from each prefix of them.
func (k *Writer) Commit(j *Journal, snapshots []*Snapshot) []record.Out {
	k.pending = pending{decided: j.Decided, snapshots: snapshots, repeated: map[*written]bool{}, stretch: new(stretch)}
	episodes := append(k.carry(), j.Episodes...)
	earlier := k.earlier()
	var records []record.Out
	for {
		n := fitting(episodes, min(journalBytes, k.largest/2))
		part := k.lastJournal
		part.Reading = j.Reading // all of its episodes were read so
		if n == len(episodes) {
			part = *j
			part.Since = k.lastJournal.Since
		}
		part.Episodes, episodes = episodes[:n:n], episodes[n:]
		records = append(records, k.journal(&part, earlier))
		if len(episodes) == 0 {
			j.Since = part.Since
			j.Owner, j.Sequence, j.Earlier, j.Live = part.Owner, part.Sequence, part.Earlier, part.Live
			k.lastJournal = *j
			k.lastJournal.Episodes, k.lastJournal.Live, k.lastJournal.Earlier = nil, nil, nil
			break
		}
	}
	taken := map[string]bool{} // keys that hold something until this commit is whole
	for _, key := range k.superfluous {
		taken[key] = true
	}
	for _, s := range snapshots {
		t := k.stream(s.Stream)
		k.version++
		s.Commit, s.Version = k.sequence, k.version
		at := stateKey{group: k.group, topic: k.topic, owner: k.owner, kind: snapshotKind, stream: s.Stream}
		for t.current.owner == k.owner && t.current.slot == at.slot || taken[at.String()] {
			at.slot++
		}
		keys := snapshotKeys{owner: k.owner, slot: at.slot, version: k.version}
		const around = 160 // bytes of a record besides its key and value, and the chunk's digits
		room := k.largest - len(at.String()) - around
		for i, value := range s.chunks(max(min(room, chunkBytes), leastChunk)) {
			at.chunk = i
			key := at.String()
			keys.keys = append(keys.keys, key)
			taken[key] = true
			records = append(records, k.record(key, value))
		}
		k.pending.keys = append(k.pending.keys, keys)
	}
	for _, key := range k.superfluous {
		records = append(records, k.record(key, nil))
	}
	k.superfluous = nil
	return records
}

func (k *Writer) record(key string, value []byte) record.Out {
	return record.Out{Topic: k.out, Partition: k.partition, Key: []byte(key), Value: value}
}

// fitting is the number of episodes that fit into most bytes of a record, at least one if there are any.
func fitting(episodes []Episode, most int) int {
	size := 0
	for i := range episodes {
		if size += episodes[i].size(); size > most && i > 0 {
			return i
		}
	}
	return len(episodes)
}

// journal numbers and encodes the next journal record.
func (k *Writer) journal(j *Journal, earlier []Commit) record.Out {
	k.sequence++
	j.Owner, j.Sequence, j.Earlier, j.Live = k.owner, k.sequence, earlier, nil
	if j.Input == "" {
		j.Input = k.lastJournal.Input
	}
	for _, list := range [][]*written{k.journals, k.pending.journals} {
		for _, w := range list {
			j.Live = append(j.Live, Commit{w.owner, w.sequence})
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
		owner: k.owner, sequence: k.sequence, slot: slot, at: record.NoPosition, episodes: j.Episodes,
		key: k.journalKey(slot),
	}
	k.pending.journals = append(k.pending.journals, w)
	return k.record(w.key, j.encode())
}

// earlier lists the owners of records that are still needed, and removes the others from bounds.
func (k *Writer) earlier() []Commit {
	needed := map[Owner]bool{}
	for _, w := range k.journals {
		needed[w.owner] = true
	}
	for o := range k.snapshots {
		needed[o] = true
	}
	for _, o := range k.unreadableOwners {
		needed[o] = true
	}
	var list []Commit
	for o, sequence := range k.bounds {
		if needed[o] {
			list = append(list, Commit{o, sequence})
		} else {
			delete(k.bounds, o)
		}
	}
	slices.SortFunc(list, func(a, b Commit) int { return a.Owner.Compare(b.Owner) })
	return list
}

// Committed must be called once the last Commit is durable, or is sure to be before the next one is written.
func (k *Writer) Committed() {
	p := k.pending
	k.pending = pending{}
	k.superfluous = append(k.superfluous, k.superfluousNext...)
	k.superfluousNext = nil
	old := k.journals
	k.journals = make([]*written, 0, len(old)+len(p.journals))
	for _, w := range old {
		if !p.repeated[w] {
			k.journals = append(k.journals, w)
			continue
		}
		for i := range w.episodes { // newer journals repeat its entries
			t := k.streams[w.episodes[i].Stream]
			t.open = slices.DeleteFunc(t.open, func(u uncovered) bool { return u.in == w })
		}
		k.drop(w)
	}
	for _, w := range p.journals {
		k.add(w, w.episodes, func(s record.StreamID) record.Position { return k.stream(s).learned })
	}
	for i, s := range p.snapshots {
		t := k.stream(s.Stream)
		k.discard(t)
		t.current, t.stretch, t.learned = p.keys[i], p.stretch, s.Learned
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

// discard has the next commit delete a stream's snapshot, after those of the stream before it, and its first chunk last: see
// Restored.snapshots.
func (k *Writer) discard(t *inTopic) {
	for _, key := range slices.Backward(t.current.keys) {
		k.superfluous = append(k.superfluous, key)
	}
	k.gone(t)
}

// gone removes a stream's snapshot from the counts per owner.
func (k *Writer) gone(t *inTopic) {
	if len(t.current.keys) == 0 {
		return
	}
	if k.snapshots[t.current.owner]--; k.snapshots[t.current.owner] == 0 {
		delete(k.snapshots, t.current.owner)
	}
}

// Leave must be called if a stream's snapshot turns out to be unreadable. The records stay in the topic for a
// build that can read them; the stream's next snapshot does not replace them.
func (k *Writer) Leave(s record.StreamID) {
	t := k.stream(s)
	if len(t.current.keys) > 0 && len(k.unreadableOwners) < mostEarlier && !slices.Contains(k.unreadableOwners, t.current.owner) {
		k.unreadableOwners = append(k.unreadableOwners, t.current.owner)
	}
	k.gone(t)
	t.current, t.stretch = snapshotKeys{}, nil
}

// Forget removes a stream: the next commit deletes its snapshot. It returns false and does nothing while a needed journal
// names the stream, because the next owner would replay it from there, and while earlier owners' snapshots of it may be left.
func (k *Writer) Forget(s record.StreamID) bool {
	t := k.streams[s]
	if t == nil {
		return true
	}
	if t.entries > 0 || k.superfluousNext != nil {
		return false
	}
	k.discard(t)
	delete(k.streams, s)
	return true
}
