package link

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/labels"
)

const (
	// publishEvery is how often a cluster is published at most, in event time: what is published depends on the records.
	publishEvery = 10 * time.Second
	// silentAfter is the wall-clock time after which the changes of a stream that has become silent are published too.
	silentAfter = 10 * time.Second
	// pause is the event time without an item that ends a visit. Somebody who was elsewhere meanwhile took at most half
	// of it each way.
	pause = 2 * time.Second
	// forgottenAfter is the wall-clock time after which nothing is kept of a silent stream.
	forgottenAfter = time.Hour
)

// Publisher publishes the clusters of a partition's streams. The records of those that an episode changed are part of
// the episode's commit. A new owner publishes a cluster with its next change, whatever was published before.
type Publisher struct {
	extension.Nothing
	topic   string
	group   string // of the stage
	visits  bool   // are published
	streams map[record.StreamID]*published
	records []record.Out // that Records has not returned yet
}

// published is what the publisher knows of a stream.
type published struct {
	latest   time.Time // wall clock
	clusters map[string]*cluster
}

// cluster is what the publisher knows of a cluster.
type cluster struct {
	record.Cluster           // as it is now; of one that does not wait without Mean and Apart
	waits          bool      // it has changed since it was published
	published      time.Time // event time of its stream; zero: it was not, by this owner
	label          string    // by then
}

// Publish returns the publisher of a partition, for a stage of this group. With visits, it publishes those of clusters.
func Publish(topic, group string, visits bool) *Publisher {
	return &Publisher{topic: topic, group: group, visits: visits, streams: map[record.StreamID]*published{}}
}

// Forgotten implements extension.Extension.
func (p *Publisher) Forgotten(of record.StreamID) {
	delete(p.streams, of)
	if record.FitsCluster(p.group, of, record.AllClusters) {
		p.records = append(p.records, record.NoCluster(p.topic, of, record.AllClusters))
	}
}

// Answered implements extension.Extension.
func (p *Publisher) Answered(e *extension.Answered) {
	of := e.Episode.Key
	if e.Report.Episode == 1 { // it was reset, or forgotten by an owner that did not say so
		p.Forgotten(of)
	}
	s := p.streams[of]
	if s == nil {
		s = &published{clusters: map[string]*cluster{}}
		p.streams[of] = s
	}
	s.latest = time.Now()
	changed := map[string]*cluster{} // by the class of its items
	for i := range e.Report.Clusters {
		c := &e.Report.Clusters[i]
		if !record.FitsCluster(p.group, of, c.Cluster) {
			continue // it cannot be named
		}
		if c.Mean == nil {
			delete(s.clusters, c.Cluster)
			p.records = append(p.records, record.NoCluster(p.topic, of, c.Cluster))
			continue
		}
		known := s.clusters[c.Cluster]
		if known == nil {
			known = new(cluster)
			known.Stream, known.Cluster.Cluster, known.Model = of.Name, c.Cluster, of.Model
			s.clusters[c.Cluster] = known
		}
		if known.Label = ""; c.Label != c.Cluster {
			known.Label = c.Label
		}
		known.Mean, known.Apart, known.Items, known.waits = c.Mean, c.Apart, c.Items, true
		changed[c.Label] = known
	}
	now := p.saw(e, changed)
	p.publish(s, now, func(c *cluster) bool {
		return c.published.IsZero() || c.label != c.Label || now.Sub(c.published) >= publishEvery
	})
}

// saw notes when clusters were seen last. changed has them by class. It returns the latest event time.
func (p *Publisher) saw(e *extension.Answered, changed map[string]*cluster) (latest time.Time) {
	for i := range e.Answers {
		it, c := &e.Episode.Items[i], changed[e.Answers[i].Class]
		if it.Time.After(latest) {
			latest = it.Time
		}
		if c == nil {
			continue
		}
		if c.Item = record.ResultOf(e.Keys[i]); it.Time.After(c.Seen) {
			c.Seen = it.Time
		}
		if p.visits {
			c.visit(it.Time.UnixMilli())
		}
	}
	return latest
}

// visit notes that the cluster was seen. What comes later than its visit is left out.
func (c *cluster) visit(at int64) {
	const most = int64(pause / time.Millisecond)
	if n := len(c.Visits); n > 0 && at <= c.Visits[n-1][1]+most {
		if last := &c.Visits[n-1]; at >= last[0]-most {
			last[0], last[1] = min(last[0], at), max(last[1], at)
		}
		return
	}
	if len(c.Visits) == record.MostVisits {
		c.Visits = slices.Delete(c.Visits, 0, 1)
	}
	c.Visits = append(c.Visits, record.Visit{at, at})
}

// publish publishes those of a stream's changed clusters that are due.
func (p *Publisher) publish(s *published, now time.Time, due func(*cluster) bool) {
	var list []*cluster
	for _, c := range s.clusters {
		if c.waits && due(c) {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *cluster) int { return cmp.Compare(a.Cluster.Cluster, b.Cluster.Cluster) })
	for _, c := range list {
		p.records = append(p.records, c.Record(p.topic))
		c.waits, c.published, c.label, c.Mean, c.Apart = false, now, c.Label, nil, nil
	}
}

// Labelled implements extension.Extension: it publishes the changes of streams that have become silent.
func (p *Publisher) Labelled(*labels.Version) time.Duration {
	for _, of := range slices.SortedFunc(maps.Keys(p.streams), compare) {
		s := p.streams[of]
		silent := time.Since(s.latest)
		if silent > silentAfter {
			p.publish(s, time.Time{}, func(*cluster) bool { return true })
		}
		if silent > forgottenAfter {
			delete(p.streams, of)
		}
	}
	return 0
}

func compare(a, b record.StreamID) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Model, b.Model))
}

// Records implements extension.Extension.
func (p *Publisher) Records() []record.Out {
	list := p.records
	p.records = nil
	return list
}
