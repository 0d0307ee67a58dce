package state

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Journal is the record of one commit of an input partition.
type Journal struct {
	Owner    Owner
	Sequence int64 // of the owner's commits
	// Earlier are previous owners whose records still count, each up to the last commit that this owner
	// has seen.
	Earlier []Commit
	// Live are the commits before this one whose journals are still needed. Journals that it does not list are
	// ignored: a slot keeps an old one until the slot is written again.
	Live []Commit
	// From is where reading starts again: the lowest position in an episode that was open, or closed and not
	// answered, or closed after an unanswered one. It is also the offset that is committed to the group. High is
	// the highest event time before it.
	From record.Position
	High time.Time
	// Decided is where the next owner starts to close episodes: all that closed before it were answered.
	Decided record.Position
	// Rejected is the offset below which every bad record is in the dead letters.
	Rejected int64
	// Dimensions of the models' vectors, by record.DimensionKey.
	Dimensions map[string]int
	// Input is the id of the input topic, "" if it has none. Since is the epoch of the first owner of the topic
	// with that id: positions written by earlier owners refer to a topic that was deleted.
	Input string
	Since int64
	// Reading says how the records were read, before which offset by which settings: the caller's text. Names of
	// streams have a meaning only with it.
	Reading string
	// Episodes are those whose results are part of this commit.
	Episodes []Episode
}

// Commit names a commit of an owner: in Journal.Earlier its last that counts, in Journal.Live any.
type Commit struct {
	Owner    Owner
	Sequence int64
}

func (j *Journal) commit() Commit { return Commit{j.Owner, j.Sequence} }

// Episode is an answered episode.
type Episode struct {
	Stream      record.StreamID
	First, Last record.Position
	At          record.Position // of the item or record that closed it
	Closed      string
	Labels      []int64 // the next offsets of the labels topic's partitions when it was answered
}

// size is approximately the episode's size in a journal.
func (a *Episode) size() int {
	const fixed = 48
	return fixed + len(a.Stream.Name) + len(a.Stream.Model) + len(a.Closed) + 5*len(a.Labels)
}

func (j *Journal) encode() []byte {
	b := begin()
	b = appendCommit(b, j.commit())
	b = appendCommits(b, j.Earlier)
	b = appendLive(b, j.Live)
	b = appendPosition(b, j.From)
	b = appendTime(b, j.High)
	b = appendPosition(b, j.Decided)
	b = binary.AppendVarint(b, j.Rejected)
	b = binary.AppendVarint(b, int64(len(j.Dimensions)))
	for model, d := range j.Dimensions {
		b = appendText(b, model)
		b = binary.AppendVarint(b, int64(d))
	}
	b = binary.AppendVarint(b, int64(len(j.Episodes)))
	var labels []int64
	for i := range j.Episodes {
		a := &j.Episodes[i]
		b = appendText(b, a.Stream.Name)
		b = appendText(b, a.Stream.Model)
		b = appendPosition(b, a.First)
		b = appendPosition(b, a.Last)
		b = appendPosition(b, a.At)
		b = appendText(b, a.Closed)
		if i > 0 && slices.Equal(labels, a.Labels) { // the usual case
			b = binary.AppendVarint(b, -1)
			continue
		}
		labels = a.Labels
		b = binary.AppendVarint(b, int64(len(labels)))
		for _, l := range labels {
			b = binary.AppendVarint(b, l)
		}
	}
	b = appendText(b, j.Input)
	b = binary.AppendVarint(b, j.Since)
	b = appendText(b, j.Reading)
	return seal(b)
}

func decodeJournal(value []byte) (*Journal, error) {
	r := open(value)
	j, c := &Journal{}, r.commit()
	j.Owner, j.Sequence = c.Owner, c.Sequence
	j.Earlier, j.Live = r.commits(), r.live()
	j.From = r.position()
	j.High = r.time()
	j.Decided = r.position()
	j.Rejected = r.integer()
	if n := r.count(); n > 0 {
		j.Dimensions = make(map[string]int, n)
		for range n {
			model := r.text()
			j.Dimensions[model] = int(r.integer())
		}
	}
	var labels []int64
	for range r.count() {
		a := Episode{
			Stream: record.StreamID{Name: r.text(), Model: r.text()},
			First:  r.position(), Last: r.position(), At: r.position(),
			Closed: r.text(),
		}
		if n := r.integer(); n >= 0 {
			if r.check(n <= int64(len(r.Src)), "labels"); r.err != nil {
				break
			}
			labels = make([]int64, n)
			for i := range labels {
				labels[i] = r.integer()
			}
		}
		a.Labels = labels
		j.Episodes = append(j.Episodes, a)
	}
	j.Input, j.Since = r.text(), r.integer()
	j.Reading = r.text()
	return j, r.end()
}

func appendCommit(b []byte, e Commit) []byte {
	b = binary.AppendVarint(b, e.Owner.Epoch)
	b = binary.AppendVarint(b, int64(uint32(e.Owner.Generation))|int64(e.Owner.Incarnation)<<32)
	return binary.AppendVarint(b, e.Sequence)
}

func (r *reader) commit() Commit {
	epoch, both := r.integer(), r.integer()
	return Commit{Owner{epoch, int32(both), int32(both >> 32)}, r.integer()}
}

func appendCommits(b []byte, list []Commit) []byte {
	b = binary.AppendVarint(b, int64(len(list)))
	for _, e := range list {
		b = appendCommit(b, e)
	}
	return b
}

func (r *reader) commits() []Commit { return r.listed(int64(r.count())) }

// listed reads so many commits.
func (r *reader) listed(n int64) (list []Commit) {
	for i := int64(0); i < n && r.err == nil; i++ {
		list = append(list, r.commit())
	}
	return list
}

// liveListed is the number of commits from which on their numbers are written as runs: with one commit of
// very many episodes, a list of them could be larger than a record.
const liveListed = 2 * mostJournals

// appendLive is appendCommits, or, for many commits, writes the runs of an owner's successive ones: their
// number below zero, and of each run its first commit and its length.
func appendLive(b []byte, list []Commit) []byte {
	if len(list) <= liveListed {
		return appendCommits(b, list)
	}
	var runs []Commit
	var lengths []int64
	for _, e := range list {
		if n := len(runs) - 1; n >= 0 && e.Owner == runs[n].Owner && e.Sequence == runs[n].Sequence+lengths[n] {
			lengths[n]++
			continue
		}
		runs, lengths = append(runs, e), append(lengths, 1)
	}
	b = binary.AppendVarint(b, int64(-len(runs)))
	for i, e := range runs {
		b = binary.AppendVarint(appendCommit(b, e), lengths[i])
	}
	return b
}

func (r *reader) live() (list []Commit) {
	n := r.integer()
	if r.check(max(n, -n) <= int64(len(r.Src)), "count"); n >= 0 || r.err != nil {
		return r.listed(n)
	}
	const most = 1 << 20 // more journals than anybody has
	for range -n {
		e, length := r.commit(), r.integer()
		if r.check(length > 0 && length <= most-int64(len(list)), "run"); r.err != nil {
			return nil
		}
		for range length {
			list = append(list, e)
			e.Sequence++
		}
	}
	return list
}

// appendTime writes seconds and nanoseconds, so that any time that a record may carry, including the zero
// time, is read back unchanged.
func appendTime(b []byte, t time.Time) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, t.Unix()), int64(t.Nanosecond()))
}

func (r *reader) time() time.Time {
	seconds, nanos := r.integer(), r.integer()
	return time.Unix(seconds, nanos).UTC()
}
