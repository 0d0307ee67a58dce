package stream

import "slices"

// Found is a cluster that a stream has found.
type Found struct {
	Cluster string    // cluster-17, whatever it is called
	Name    string    // after a labelled member; "": none
	Mean    []float32 // of its last items at length 1; a copy
	Items   int64     // that were answered with it
	Seen    int64     // the last episode with one of them
}

// Found returns the clusters of the stream in the order of their ids.
func (s *Stream) Found() []Found {
	out := make([]Found, len(s.clusters.list))
	for i, c := range s.clusters.list {
		unnamed := cluster{id: c.id}
		out[i] = Found{Cluster: unnamed.label(), Name: c.name, Mean: slices.Clone(c.mean), Items: c.items, Seen: c.seen}
	}
	return out
}
