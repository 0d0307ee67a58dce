package state

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	memory "github.com/slkstream/slkstream/solver/stream"
)

// Restored is the state of an input partition as of the last commit.
type Restored struct {
	Journal   *Journal // the last; nil: the partition has had no owner yet
	Snapshots map[record.StreamID]*Snapshot
	// Relearn are the answered episodes that no snapshot covers, in the order of their first items: to be
	// replayed without emitting results.
	Relearn []Episode
	// Ahead are the answered episodes that closed at Journal.Decided or later, in the order in which they
	// closed. They will close again.
	Ahead []Episode
	// Done is the last answered position of each stream.
	Done map[record.StreamID]record.Position
	// Hung are the episodes whose solve did not end for earlier owners.
	Hung []Hung
	// Faults are the errors of unreadable records, each with the stream that starts cold because of it, if any.
	// The records stay in the topic for a build that can read them.
	Faults []error
	// Unreadable are the keys of those records, and of the other chunks of their snapshots.
	Unreadable []string
	// Old counts the records of earlier formats, which are left alone: streams start from their labels.
	Old int
	// Blocked is the reason why the partition cannot be restored: a journal that counts cannot be read. nil: it
	// can be restored.
	Blocked error

	unreadableOwners map[Owner]bool // owners of unreadable records
	hung             []hungRecord
	newest           Owner // the latest owner of any record
	live             []journalRecord
	keys             map[record.StreamID]snapshotKeys
	stretches        map[record.StreamID]*stretch
	end              int64 // offset behind the last record
	superfluous      []string
	bounds           map[Owner]int64
}

// snapshotKeys says where a snapshot is in the topic.
type snapshotKeys struct {
	owner   Owner
	slot    int
	version int64 // the keys may have held others
	keys    []string
}

type journalRecord struct {
	key string
	*Journal
}

// lostJournal is a journal that cannot be read.
type lostJournal struct {
	owner Owner
	err   error
}

// candidate is a version of a snapshot.
type candidate struct {
	candidateName
	commit int64
	chunks []chunk  // snapshots sorts them
	keys   []string // of the chunks
}

type candidateName struct {
	key    stateKey // of its first chunk
	number int64
}

// Restore ends the loading; the loader must not be used after it, as the result shares its values.
// Restore finds the last owner, the records of earlier owners that still count, and each stream's newest
// complete snapshot.
func (l *Loader) Restore() *Restored {
	r := &Restored{
		Snapshots: map[record.StreamID]*Snapshot{}, Done: map[record.StreamID]record.Position{},
		keys: map[record.StreamID]snapshotKeys{}, stretches: map[record.StreamID]*stretch{}, end: l.end,
		bounds: map[Owner]int64{}, unreadableOwners: map[Owner]bool{},
	}
	var journals []journalRecord
	var lost []lostJournal
	torn := map[stateKey]bool{} // first keys of versions of snapshots with an unreadable chunk
	versions := map[candidateName]*candidate{}
	for key, record := range l.last {
		value := record.value
		p, err := parseStateKey([]byte(key))
		if err != nil {
			r.leave(Owner{}, err, key)
			continue
		}
		if p.owner.Compare(r.newest) > 0 {
			r.newest = p.owner
		}
		if isOld(value) {
			r.Old++
			continue
		}
		if p.kind == hungKind {
			r.hang(key, value)
			continue
		}
		if p.kind == journalKind {
			j, err := decodeJournal(value)
			if err == nil && j.Owner != p.owner {
				err = fmt.Errorf("%w: journal of %v under the key of %v", ErrUnreadable, j.Owner, p.owner)
			}
			if err != nil {
				err = fmt.Errorf("journal %s: %w", key, err)
				r.leave(p.owner, err, key)
				lost = append(lost, lostJournal{p.owner, err})
				continue
			}
			journals = append(journals, journalRecord{key, j})
			continue
		}
		p.group, p.chunk = "", 0 // one snapshot's chunks, whatever their number
		c, err := decodeChunk(value)
		if err != nil {
			r.leave(p.owner, fmt.Errorf("stream %q: %w", p.stream.Name, err), key)
			torn[p] = true
			continue
		}
		name := candidateName{p, c.version}
		v := versions[name]
		if v == nil {
			v = &candidate{candidateName: name, commit: c.commit}
			versions[name] = v
		}
		c.key = key
		v.chunks = append(v.chunks, c)
	}
	r.journals(journals)
	r.block(lost)
	r.snapshots(versions, torn)
	r.cover()
	r.hangs()
	slices.SortFunc(r.superfluous, func(a, b string) int { return cmp.Compare(b, a) }) // of a snapshot the first chunk last
	for stream, keys := range r.keys {
		at := &stretch{from: math.MaxInt64}
		for _, key := range keys.keys {
			w := l.last[key]
			at.from, at.to = min(at.from, w.offset), max(at.to, w.offset+1)
			if w.time.After(r.Snapshots[stream].Written) {
				r.Snapshots[stream].Written = w.time
			}
		}
		at.durable.Store(true)
		r.stretches[stream] = at
	}
	l.last = nil // r holds the values that still count
	return r
}

// leave registers unreadable records of an owner, which stay in the topic.
func (r *Restored) leave(owner Owner, fault error, keys ...string) {
	r.Faults = append(r.Faults, fault)
	r.Unreadable = append(r.Unreadable, keys...)
	r.unreadableOwners[owner] = true
}

// block sets Blocked if one of the unreadable journals may count: it belongs to the last owner or a later
// one, or the last journal lists it as live.
func (r *Restored) block(lost []lostJournal) {
	for _, l := range lost {
		counts := r.Journal == nil || l.owner.Compare(r.Journal.Owner) >= 0
		for i := 0; !counts && i < len(r.Journal.Live); i++ {
			e := r.Journal.Live[i]
			counts = e.Owner == l.owner && !slices.ContainsFunc(r.live, func(j journalRecord) bool {
				return j.commit() == e
			})
		}
		if counts {
			r.Blocked = fmt.Errorf("%w: %w", ErrBlocked, l.err)
			return
		}
	}
}

// counts says whether a commit counts: it is the last owner's, or an earlier one's that the last owner saw.
func (r *Restored) counts(o Owner, commit int64) bool {
	if r.Journal == nil {
		return false
	}
	bound, ok := r.bounds[o]
	return o == r.Journal.Owner || ok && commit <= bound
}

func (r *Restored) journals(list []journalRecord) {
	slices.SortFunc(list, func(a, b journalRecord) int {
		return cmp.Or(a.Owner.Compare(b.Owner), cmp.Compare(a.Sequence, b.Sequence))
	})
	if len(list) > 0 {
		r.Journal = list[len(list)-1].Journal
		for _, e := range r.Journal.Earlier {
			r.bounds[e.Owner] = e.Sequence
		}
	}
	for i, j := range list {
		last := i == len(list)-1
		if j.Owner.Epoch < r.Journal.Since || !last && !slices.Contains(r.Journal.Live, j.commit()) {
			r.superfluous = append(r.superfluous, j.key)
			continue
		}
		r.live = append(r.live, j)
	}
}

func (r *Restored) snapshots(versions map[candidateName]*candidate, torn map[stateKey]bool) {
	whole := map[record.StreamID][]*candidate{}
	broken, begun := map[stateKey]error{}, map[stateKey]bool{}
	for _, v := range versions {
		slices.SortFunc(v.chunks, func(a, b chunk) int { return a.index - b.index })
		for _, c := range v.chunks {
			v.keys = append(v.keys, c.key)
		}
		begun[v.key] = begun[v.key] || v.chunks[0].index == 0
		if !r.counts(v.key.owner, v.commit) {
			r.superfluous = append(r.superfluous, v.keys...)
			continue
		}
		if torn[v.key] {
			r.Unreadable = append(r.Unreadable, v.keys...)
			continue
		}
		if have, want := len(v.chunks), v.chunks[0].count; have != want {
			broken[v.key] = fmt.Errorf("stream %q: %w: %d of %d chunks", v.key.stream.Name, ErrUnreadable, have, want)
			r.superfluous = append(r.superfluous, v.keys...)
			continue
		}
		whole[v.key.stream] = append(whole[v.key.stream], v)
	}
	for stream, list := range whole {
		v, s := r.latest(stream, list)
		if s == nil {
			continue
		}
		if r.Journal != nil && v.key.owner.Epoch < r.Journal.Since {
			s.Learned = record.NoPosition
		}
		r.Snapshots[stream] = s
		r.Done[stream] = s.Learned
		r.keys[stream] = snapshotKeys{v.key.owner, v.key.slot, v.number, v.keys}
	}
	// Chunks are written from the first on, and deleted from the last on. So where there is a first chunk, of this version or of
	// one that is written over it, the writing or the deletion was cut short, and nothing is lost: the commit's journal lists the
	// episodes to replay.
	for key, err := range broken {
		if r.Snapshots[key.stream] == nil && !begun[key] {
			r.Faults = append(r.Faults, err)
		}
	}
}

// latest finds the newest version of a stream's snapshot that this build can read; nil: there is none. Newer
// ones stay in the topic, older ones are superfluous.
func (r *Restored) latest(stream record.StreamID, list []*candidate) (found *candidate, snapshot *Snapshot) {
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(b.key.owner.Compare(a.key.owner), cmp.Compare(b.number, a.number))
	})
	for _, v := range list {
		if found != nil {
			r.superfluous = append(r.superfluous, v.keys...)
			continue
		}
		s, err := join(stream, v.chunks)
		if err == nil {
			err = memory.SameVersion(s.Pieces)
		}
		if err != nil {
			r.leave(v.key.owner, fmt.Errorf("stream %q: %w", stream.Name, err), v.keys...)
			continue
		}
		found, snapshot = v, s
	}
	return found, snapshot
}

// cover sorts the journals' episodes into those to replay, those answered ahead of others, and the rest.
func (r *Restored) cover() {
	if r.Journal == nil {
		return
	}
	kept := r.live[:0]
	for i, j := range r.live {
		needed := i == len(r.live)-1
		for _, a := range j.Episodes {
			if a.Last.After(r.learned(a.Stream)) {
				r.Relearn = append(r.Relearn, a)
				needed = true
			}
			if !r.Journal.Decided.After(a.At) {
				r.Ahead = append(r.Ahead, a)
				needed = true
			}
			if done, ok := r.Done[a.Stream]; !ok || a.Last.After(done) {
				r.Done[a.Stream] = a.Last
			}
		}
		if needed {
			kept = append(kept, j)
		} else {
			r.superfluous = append(r.superfluous, j.key)
		}
	}
	r.live = kept
	slices.SortFunc(r.Relearn, func(a, b Episode) int { return order(a.First, b.First) })
	slices.SortStableFunc(r.Ahead, func(a, b Episode) int { return order(a.At, b.At) })
	r.Relearn, r.Ahead = once(r.Relearn), once(r.Ahead)
}

type episodeName struct {
	stream record.StreamID
	first  record.Position
}

// once removes repeated episodes, which later journals carry over.
func once(list []Episode) []Episode {
	seen := make(map[episodeName]bool, len(list))
	return slices.DeleteFunc(list, func(a Episode) bool {
		n := episodeName{a.Stream, a.First}
		double := seen[n]
		seen[n] = true
		return double
	})
}

func (r *Restored) learned(s record.StreamID) record.Position {
	if snapshot := r.Snapshots[s]; snapshot != nil {
		return snapshot.Learned
	}
	return record.NoPosition
}

func order(a, b record.Position) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Object, b.Object))
}
