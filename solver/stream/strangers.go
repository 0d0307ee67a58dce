package stream

const (
	strangerItems = 5  // a cluster is reported from so many items on: single ones are mostly accidents
	strangerAway  = 10 // episodes without an item after which a stranger counts as returned
)

// copies returns the clusters as they are before an episode.
func (s *clusters) copies() map[*cluster]cluster {
	out := make(map[*cluster]cluster, len(s.list))
	for _, c := range s.list {
		out[c] = *c
	}
	return out
}

// strangers reports the clusters of an episode's unknown items that nobody has named: those that are new, and
// those that return.
func (s *clusters) strangers(
	before map[*cluster]cluster, episode int64, called *followedLabels, report *Report,
) {
	for _, c := range s.list {
		was, label := before[c], c.label()
		switch {
		case c.seen != episode, c.name != "", called.called(label) != label, c.items < strangerItems:
		case was.items < strangerItems:
			report.Events = append(report.Events, Event{Kind: "new-unknown", Class: label})
		case episode-was.seen > strangerAway:
			report.Events = append(report.Events, Event{Kind: "returned-unknown", Class: label})
		}
	}
}
