package metric

import (
	"sync"
)

// Shared pools the residuals of all streams of a feed. How points of a class lie around its mean is much the
// same from camera to camera, so a new stream starts with the metric of the others and a quiet one does not
// wait for its own. It keeps at most sharedFeeds feeds, because senders may invent model names, and evicts
// the one least recently used. It is safe for concurrent use; nil shares nothing. With it a stream's answers
// depend on the other streams, and in a replay on how far these are.
type Shared struct {
	mutex sync.Mutex
	feeds map[Feed]*sharedFeed
	uses  int64
}

// sharedFeeds bounds the pairs of model and dimension of a Shared, each of which costs a sketch and a metric.
const sharedFeeds = 16

// Feed identifies streams that can share: residuals of two models or two dimensions cannot be compared.
type Feed struct {
	Model     string
	Dimension int
}

type sharedFeed struct {
	points *Sketch
	latest *Metric // the last one published
	used   int64
}

// NewShared returns an empty Shared.
func NewShared() *Shared { return &Shared{feeds: map[Feed]*sharedFeed{}} }

func (m *Shared) of(key Feed) *sharedFeed {
	f := m.feeds[key]
	if f == nil {
		f = &sharedFeed{}
		m.feeds[key] = f
	}
	m.uses++
	f.used = m.uses
	for len(m.feeds) > sharedFeeds {
		oldest := key
		for k, other := range m.feeds {
			if other.used < m.feeds[oldest].used {
				oldest = k
			}
		}
		delete(m.feeds, oldest)
	}
	return f
}

// Add adds the residuals of an episode to those of its feed, for metrics of a rank.
func (m *Shared) Add(feed Feed, of Rows, rank int) {
	if m == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	f := m.of(feed)
	f.points = f.points.With(of, rank)
}

// Points returns the residuals of all streams, and own if nothing is shared.
func (m *Shared) Points(feed Feed, own *Sketch) *Sketch {
	if m == nil {
		return own
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if f := m.of(feed); f.points != nil {
		return f.points
	}
	return own
}

// Publish makes a stream's new metric the one with which new streams start. It was made of points, and next
// is these about it: the residuals go on from there, unless other streams have added to them, or the stream
// had labels enough.
func (m *Shared) Publish(feed Feed, metric *Metric, points, next *Sketch) {
	if m == nil || metric == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if f := m.feeds[feed]; f != nil {
		if f.latest = metric; f.points == points && next.Metric == metric {
			f.points = next
		}
	}
}

// Latest returns the metric with which a new stream starts, nil if none was published.
func (m *Shared) Latest(feed Feed) *Metric {
	if m == nil {
		return nil
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.of(feed).latest
}
