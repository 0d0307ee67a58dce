package labels

import (
	"cmp"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Record is a record of the labels topic. Its Key is the id of an example or a rejection. Of the item of an
// example it has what the example needs, and attributes, to show its picture, unless they are long, or too
// many examples have some.
type Record struct {
	record.Label
	Partition int
	Offset    int64
	Written   time.Time       // the record's timestamp
	example   *taught.Example // of Teach
	told      bool            // reported as one that cannot be in force
	knew      Position        // the records that its author's program had before it; nil: not said
}

// taught is the example that the record teaches, with the record's timestamp.
func (r *Record) taught() record.Example {
	return record.Example{
		ID: r.Key, ItemID: r.ItemID, Stream: r.Teach.Stream, Label: r.Teach.Label, Model: r.Teach.Model, Vector: r.Teach.Vector,
		Attributes: r.Teach.Attributes, By: r.By, At: r.Written,
	}
}

// Class is the record's label, name or reset class; "" for rejections.
func (r *Record) Class() string {
	switch {
	case r.Teach != nil:
		return r.Teach.Label
	case r.Name != nil:
		return r.Name.Name
	case r.Reset != nil:
		return r.Reset.Class
	}
	return ""
}

// Stream is the stream that the record applies to; "": all.
func (r *Record) Stream() string {
	switch {
	case r.Teach != nil:
		return r.Teach.Stream
	case r.Not != nil:
		return r.Not.Stream
	case r.Name != nil:
		return r.Name.Stream
	case r.Reset != nil:
		return r.Reset.Stream
	}
	return ""
}

// after says whether the record counts as later than x; nil: nothing came before. In one partition offsets say
// so. Across partitions a record is later than all that were there when it was written, whatever the clocks of
// their authors. Only where neither was there do timestamps decide.
func (r *Record) after(x *Record) bool {
	switch {
	case x == nil:
		return true
	case r.Partition == x.Partition:
		return r.Offset > x.Offset
	case r.knew.offset(x.Partition) > x.Offset:
		return true
	case x.knew.offset(r.Partition) > r.Offset:
		return false
	}
	return r.before(x) > 0
}

// before orders records for lists, by timestamp, then by partition and offset, so that the order does not
// depend on which partition is read first. What counts is decided by after.
func (r *Record) before(x *Record) int {
	return cmp.Or(r.Written.Compare(x.Written), cmp.Compare(r.Partition, x.Partition),
		cmp.Compare(r.Offset, x.Offset))
}

// precedes orders examples by which leave first when there are too many: those without an author (machines'
// examples) before people's, then the oldest.
func (r *Record) precedes(x *Record) int {
	people := func(r *Record) int {
		if r.By != "" {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(people(r), people(x)), r.before(x))
}

// speaks says whether the record is a name or a rejection.
func (r *Record) speaks() bool { return r != nil && (r.Not != nil || r.Name != nil) }

func (r *Record) atOffset(offset int64) int { return cmp.Compare(r.Offset, offset) }

// history holds the records of the labels topic that this process has read: those in force, and replaced
// ones while there is room. Versions of the labels can be made from them for any offsets they reach.
type history struct {
	decoder *record.Decoder // of the topic's records; nil: none are read
	support map[string]*taught.Example
	most    int // most examples of the topic in force, the latest; 0: no bound
	next    Position
	keys    map[string]keyRecords
	log     [][]*Record // of each partition, by offset
	since   []int64     // of each partition, the first offset for which a version can be made
	resets  []*Record
	root    *Version // the version with the support only

	replaced, room int // bytes of replaced records, and their bound
	attributes     int // bytes of attributes of records that hold

	mark Position // of the topic; see Position
}

// keyRecords holds the records of one key, partition by partition, by offset.
type keyRecords [][]*Record

// mostReplaced bounds the bytes of replaced records. They are kept because replay after a snapshot uses the
// labels in force at that time.
const mostReplaced = 64 << 20

// Bounds of the attributes kept with examples, in bytes: of one example and of all.
const (
	LongestAttributes = 4 << 10
	MostAttributes    = 16 << 20
)

func newHistory(partitions int, support []taught.Example, most int) *history {
	l := &history{
		support: map[string]*taught.Example{}, most: most, room: mostReplaced, keys: map[string]keyRecords{},
		next: make(Position, partitions), log: make([][]*Record, partitions), since: make([]int64, partitions),
	}
	var changes []taught.Change
	bytes := int64(0)
	for i := range support {
		l.support[support[i].ID] = &support[i]
		changes = append(changes, taught.Change{Example: support[i]})
		bytes += bytesOf(&support[i])
	}
	l.root = &Version{
		bytes:  bytes,
		Labels: new(taught.Labels).With(taught.Changes{Examples: changes}),
		Next:   make(Position, partitions), standing: ordered.New((*Record).precedes),
		said: ordered.New((*Record).before), naming: newNaming(nil),
	}
	return l
}

// add adds one record of a partition, in the order of its offsets, and returns it. Resets are kept apart.
func (l *history) add(partition int, offset int64, at time.Time, what record.Label) *Record {
	r := &Record{Label: what, Partition: partition, Offset: offset, Written: at}
	switch {
	case what.Reset != nil:
		l.resets = append(l.resets, r)
		return r
	case what.Teach != nil:
		i := what.Teach
		r.Key, r.example = i.ItemID, &taught.Example{ID: i.ItemID, Label: i.Label, Vector: i.Vector, Model: i.Model}
		r.Teach = &record.Item{ItemID: i.ItemID, Stream: i.Stream, Label: i.Label, Vector: i.Vector, Model: i.Model}
		if n := len(i.Attributes); n <= LongestAttributes && l.attributes+n <= MostAttributes {
			r.Teach.Attributes = slices.Clone(i.Attributes)
			l.attributes += n
		}
	case what.Not != nil:
		r.Key = what.Not.ID
	case what.Forget != "":
		r.Key = what.Forget
	}
	parts := l.keys[r.Key]
	i := slices.IndexFunc(parts, func(list []*Record) bool { return list[0].Partition == partition })
	if i < 0 {
		l.keys[r.Key] = append(parts, []*Record{r})
	} else {
		list := parts[i]
		last := list[len(list)-1]
		l.replaced += last.size()
		l.attributes -= last.attributes()
		parts[i] = append(list, r)
	}
	l.log[partition] = append(l.log[partition], r)
	for l.replaced > l.room {
		l.trim()
	}
	return r
}

func (r *Record) attributes() int {
	if r.Teach == nil {
		return 0
	}
	return len(r.Teach.Attributes)
}

// size is the record's approximate size in memory.
func (r *Record) size() int {
	n := 256 + len(r.Key) + len(r.ItemID) + r.attributes()
	if r.Teach != nil {
		n += 320 + 4*len(r.Teach.Vector)
	}
	if r.Not != nil {
		n += 4 * len(r.Not.Vector)
	}
	return n
}

// trim drops the older half of the longest log, and the records replaced within it.
func (l *history) trim() {
	partition := 0
	for p := range l.log {
		if len(l.log[p]) > len(l.log[partition]) {
			partition = p
		}
	}
	log := l.log[partition]
	n := (len(log) + 1) / 2
	l.since[partition] = log[n-1].Offset + 1
	for _, r := range log[:n] {
		parts := l.keys[r.Key]
		i := slices.IndexFunc(parts, func(list []*Record) bool { return list[0].Partition == partition })
		list := parts[i]
		for len(list) > 1 && list[1].Offset < l.since[partition] {
			l.replaced -= list[0].size()
			list = list[1:]
		}
		parts[i] = slices.Clip(list)
	}
	l.log[partition] = slices.Clone(log[n:])
}

// holds returns the record of a key in force at these offsets; nil: none. In a partition it is the last one;
// of several partitions, the one that counts as the latest. This depends on the topic's contents only, and
// compaction does not change it.
func (l *history) holds(key string, next Position) (best *Record) {
	for _, list := range l.keys[key] {
		if list[0].Partition >= len(next) {
			continue
		}
		i, _ := slices.BinarySearchFunc(list, next[list[0].Partition], (*Record).atOffset)
		if i == 0 {
			continue
		}
		if r := list[i-1]; r.after(best) {
			best = r
		}
	}
	return best
}

// changed returns the keys that have records between two positions.
func (l *history) changed(a, b Position) map[string]bool {
	keys := map[string]bool{}
	for p, log := range l.log {
		from, to := a.offset(p), b.offset(p)
		i, _ := slices.BinarySearchFunc(log, min(from, to), (*Record).atOffset)
		for ; i < len(log) && log[i].Offset < max(from, to); i++ {
			keys[log[i].Key] = true
		}
	}
	return keys
}

// reaches says whether all records needed for a version at these offsets are kept.
func (l *history) reaches(next Position) bool {
	for p, since := range l.since {
		if next.offset(p) < since {
			return false
		}
	}
	return true
}

// version makes the version at these offsets from another one, at a cost proportional to the records between
// them. The result does not depend on from.
func (l *history) version(from *Version, next Position) *Version {
	if !l.reaches(from.Next) {
		from = l.root
	}
	v := &Version{Next: slices.Clone(next), resets: l.resetsBefore(next), of: l, bytes: from.bytes}
	var keys map[string]bool
	if from == l.root {
		keys = make(map[string]bool, len(l.keys))
		for key := range l.keys {
			keys[key] = true
		}
	} else {
		keys = l.changed(from.Next, next)
	}
	var said, edits []ordered.Edit[*Record]
	for key := range keys {
		before, now := l.holds(key, from.Next), l.holds(key, next)
		if before == now {
			continue
		}
		if before.speaks() {
			said = append(said, ordered.Edit[*Record]{Value: before, Out: true})
		}
		if now.speaks() {
			said = append(said, ordered.Edit[*Record]{Value: now})
		}
	}
	v.said = from.said.Edit(said)
	if v.naming = from.naming.linked(said); v.naming == nil {
		v.naming = newNaming(slices.Collect(v.said.All()))
		named := slices.ContainsFunc(said, func(x ordered.Edit[*Record]) bool { return x.Value.Name != nil })
		if named && len(v.naming.forgotten)+len(from.naming.forgotten) > 0 && from != l.root {
			return l.version(l.root, next) // any example may be affected
		}
	}
	if len(v.naming.forgotten) > 0 {
		v.resets = slices.Concat(v.resets, v.naming.resets)
		if from == l.root {
			for id := range l.support {
				keys[id] = true
			}
		}
	}
	forgotten := map[string]bool{}
	for key := range keys {
		before, now := l.holds(key, from.Next), l.holds(key, next)
		if before == now {
			continue
		}
		forgotten[key] = now != nil && now.Teach == nil && now.Name == nil
		if before != nil && before.Teach != nil {
			edits = append(edits, ordered.Edit[*Record]{Value: before, Out: true})
		}
		if now != nil && now.Teach != nil && !v.naming.cut(now.Stream(), now.Teach.Label, now) {
			edits = append(edits, ordered.Edit[*Record]{Value: now})
		}
	}
	v.standing = from.standing.Edit(edits)
	if v.leftOut = v.standing.Len() - l.most; l.most > 0 && v.leftOut > 0 {
		v.oldest = v.standing.At(v.leftOut)
	} else {
		v.leftOut = 0
	}
	for _, key := range between(v.standing, from.oldest, v.oldest) {
		keys[key] = true
	}
	var changes []taught.Change
	for key := range keys {
		before, now := l.inForce(from, key), l.inForce(v, key)
		if before.Example == now.Example {
			continue
		}
		v.bytes += bytesOf(now.Example) - bytesOf(before.Example)
		if before.Example != nil && (now.Example == nil || now.Stream != before.Stream) {
			changes = append(changes, taught.Change{Stream: before.Stream, Example: *before.Example, Out: true})
		}
		if now.Example != nil {
			changes = append(changes, taught.Change{Stream: now.Stream, Example: *now.Example})
		}
	}
	if v.Labels = from.Labels; len(keys) > 0 { // else only markers of transactions came: streams need prepare nothing anew
		v.Labels = from.Labels.With(taught.Changes{
			Examples: changes, Forgotten: forgotten, Names: v.naming.names, Rejections: v.naming.rejections,
		})
	}
	return v
}

// bytesOf is the approximate size of an example in force in memory; nil: none.
func bytesOf(e *taught.Example) int64 {
	if e == nil {
		return 0
	}
	const copies = 3 // the original, the prepared vector, and its products
	return int64(copies*4*len(e.Vector) + len(e.ID) + 400)
}

// between returns the keys of standing examples from one record to the other, in either order; nil comes
// before all others.
func between(standing ordered.List[*Record], a, b *Record) (keys []string) {
	if a != nil && (b == nil || b.precedes(a) < 0) {
		a, b = b, a
	}
	if b == nil {
		return nil
	}
	all := standing.All()
	if a != nil {
		all = ordered.From(standing, a, (*Record).precedes)
	}
	for r := range all {
		if r.precedes(b) >= 0 {
			break
		}
		keys = append(keys, r.Key)
	}
	return keys
}

// Scoped is an example and the stream that it applies to; "": all.
type Scoped struct {
	Stream  string
	Example *taught.Example
}

// inForce returns the example of a key that is in force in a version. Records of the topic
// override the support.
func (l *history) inForce(v *Version, key string) Scoped {
	r := l.holds(key, v.Next)
	switch {
	case r == nil:
		e := l.support[key]
		if e != nil && v.naming.cut("", e.Label, nil) {
			e = nil
		}
		return Scoped{"", e}
	case r.Teach == nil, v.oldest != nil && r.precedes(v.oldest) < 0, v.naming.cut(r.Stream(), r.Teach.Label, r):
		return Scoped{}
	}
	return Scoped{r.Stream(), r.example}
}

// resetsBefore returns the resets that a version at these offsets covers.
func (l *history) resetsBefore(next Position) []*Record {
	later := func(r *Record) bool { return r.Offset >= next.offset(r.Partition) }
	if !slices.ContainsFunc(l.resets, later) {
		return slices.Clip(l.resets) // the usual case: shared
	}
	return slices.DeleteFunc(slices.Clone(l.resets), later)
}
