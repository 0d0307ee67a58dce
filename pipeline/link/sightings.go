package link

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

const (
	// arrivesAfter is how long a stream has not seen an identity that it sees anew, in event time.
	arrivesAfter = time.Minute
	// mostGone bounds the streams whose cluster of an identity is gone and of which it is known when they saw it.
	mostGone = 64
)

// sightings tell where identities are seen: of each when it is new, and each time when it comes to a stream.
type sightings struct {
	last   map[int64]map[string]time.Time // when each identity was seen in each stream
	untold []record.Sighting
}

// saw notes that an identity was seen in the stream of a cluster, which was told before.
func (s *sightings) saw(id int64, c *record.Cluster) {
	if s.last[id] == nil {
		s.last[id] = map[string]time.Time{}
	}
	if c.Seen.After(s.last[id][c.Stream]) {
		s.last[id][c.Stream] = c.Seen
	}
}

// tell takes in the clusters that an identity has now, in any order, and tells what follows, earlier sightings first.
func (s *sightings) tell(id int64, identity, label string, clusters []*record.Cluster) {
	latest := map[string]*record.Cluster{} // by stream
	for _, c := range clusters {
		if known := latest[c.Stream]; known == nil || c.Seen.After(known.Seen) {
			latest[c.Stream] = c
		}
	}
	for _, c := range slices.SortedFunc(maps.Values(latest), func(a, b *record.Cluster) int {
		return cmp.Or(a.Seen.Compare(b.Seen), cmp.Compare(a.Stream, b.Stream))
	}) {
		if last, known := s.last[id][c.Stream]; !known || c.Seen.Sub(last) >= arrivesAfter {
			kind := record.IdentitySeen
			if s.last[id] == nil {
				kind = record.IdentityNew
			}
			x := record.Sighting{
				Events: []string{kind + " " + identity}, Identity: identity, Label: label, Stream: c.Stream, Cluster: c.Cluster,
				Model: c.Model, Item: c.Item, Time: c.Seen,
			}
			x.Before, x.Gap = s.before(id, c.Seen)
			s.untold = append(s.untold, x)
		}
		s.saw(id, c)
	}
	if len(s.last[id]) > len(latest)+mostGone {
		maps.DeleteFunc(s.last[id], func(stream string, _ time.Time) bool { return latest[stream] == nil })
	}
}

// before returns the stream that saw an identity last before a time, and the seconds since then; "": none did.
func (s *sightings) before(id int64, now time.Time) (stream string, gap *float64) {
	var last time.Time
	for _, in := range slices.Sorted(maps.Keys(s.last[id])) {
		if at := s.last[id][in]; !at.After(now) && (stream == "" || at.After(last)) {
			stream, last = in, at
		}
	}
	if stream != "" {
		seconds := now.Sub(last).Seconds()
		gap = &seconds
	}
	return stream, gap
}
