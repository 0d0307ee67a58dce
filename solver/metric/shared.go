package metric

import (
	"sync"
)

// Shared is what streams of one feed learn together about distance: the residuals of all their episodes. How points of
// a class lie around its mean is much the same from camera to camera, so that a new stream starts with the metric of the
// others and a quiet one does not wait for its own. It holds the models of sharedFeeds at most: a sender may invent their
// names, and of more the one longest unused is forgotten. Any number of streams and goroutines may use one; what a stream answers
// then depends on the others, and in a replay on how far they are.
type Shared struct {
	mutex sync.Mutex
	feeds map[Feed]*sharedFeed
	uses  int64
}

// sharedFeeds bounds the pairs of model and dimension of a Shared, each of which costs a d x d matrix.
const sharedFeeds = 16

// Feed is what streams must have in common: residuals of two embedders or two dimensions say nothing of one another.
type Feed struct {
	Model     string
	Dimension int
}

type sharedFeed struct {
	scatter *Scatter
	latest  *Metric // the last one any stream made
	used    int64
}

// NewShared returns one that has seen nothing.
func NewShared() *Shared { return &Shared{feeds: map[Feed]*sharedFeed{}} }

func (m *Shared) of(key Feed) *sharedFeed {
	f := m.feeds[key]
	if f == nil {
		f = &sharedFeed{scatter: NewScatter(key.Dimension)}
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

// Add takes an episode's residuals in.
func (m *Shared) Add(feed Feed, z, soft []float32, k int) {
	if m == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	points := &m.of(feed).scatter.Points
	m.of(feed).scatter.AddPoints(z, soft, k)
	points.Fade(freedomKept * float64(feed.Dimension))
}

// Points are the residuals of all streams, nil where none are shared.
func (m *Shared) Points(feed Feed) *Residuals {
	if m == nil {
		return nil
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.of(feed).scatter.Points.Clone()
}

// Publish makes a stream's new metric the one that new streams start with.
func (m *Shared) Publish(feed Feed, metric *Metric) {
	if m == nil || metric == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if f := m.feeds[feed]; f != nil {
		f.latest = metric
	}
}

// Latest is the metric a stream starts with, nil where no other stream has one.
func (m *Shared) Latest(feed Feed) *Metric {
	if m == nil {
		return nil
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.of(feed).latest
}
