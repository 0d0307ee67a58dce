package state

import (
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// carry returns the entries of the smallest journals that are still needed, if there are more than
// mostJournals of them. The next commit repeats these entries, so that the old journals can be deleted.
func (k *Writer) carry() []Episode {
	if len(k.journals) <= mostJournals {
		return nil
	}
	smallest := slices.Clone(k.journals)
	slices.SortStableFunc(smallest, func(a, b *written) int { return a.size - b.size })
	n, size := 0, 0
	for n < mostJournals/2 && size+smallest[n].size <= journalBytes/2 {
		size += smallest[n].size
		n++
	}
	if n < 2 {
		return nil
	}
	var again []Episode
	for _, w := range smallest[:n] {
		k.pending.repeated[w] = true
		for i := range w.episodes {
			if a := &w.episodes[i]; !k.pending.decided.After(a.At) || k.isOpen(a) {
				again = append(again, *a)
			}
		}
	}
	return again
}

// isOpen says whether no snapshot covers the episode.
func (k *Writer) isOpen(a *Episode) bool {
	for _, u := range k.streams[a.Stream].open {
		if u.last == a.Last {
			return true
		}
	}
	return false
}

// Outdated returns the streams with the oldest snapshots if snapshots of more than mostEarlier owners are in
// use; each commit must list all of these owners. The caller should save these streams soon. nil: none.
func (k *Writer) Outdated() []record.StreamID {
	owners := slices.SortedFunc(maps.Keys(k.snapshots), Owner.Compare)
	if len(owners) <= mostEarlier {
		return nil
	}
	oldest := owners[len(owners)-mostEarlier/2]
	var list []record.StreamID
	for s, t := range k.streams {
		if len(t.current.keys) > 0 && t.current.owner.Compare(oldest) < 0 {
			list = append(list, s)
		}
	}
	return list
}
