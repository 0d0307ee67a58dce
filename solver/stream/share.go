package stream

import (
	"sync"

	"github.com/slkstream/slkstream/solver/metric"
)

// SharedMetric is what streams of one feed learn together about distance: the residuals of all their episodes. How points of
// a class lie around its mean is much the same from camera to camera, so that a new stream starts with the metric of the
// others and a quiet one does not wait for its own. It holds the models of sharedFeeds at most: a sender may invent their
// names, and of more the one longest unused is forgotten. Any number of streams and goroutines may use one; what a stream answers
// then depends on the others, and in a replay on how far they are.
type SharedMetric struct {
	mutex sync.Mutex
	feeds map[feed]*sharedFeed
	uses  int64
}

// sharedFeeds bounds the pairs of model and dimension of a SharedMetric, each of which costs a d x d matrix.
const sharedFeeds = 16

// feed is what streams must have in common: residuals of two embedders or two dimensions say nothing of one another.
type feed struct {
	model     string
	dimension int
}

type sharedFeed struct {
	scatter *metric.Scatter
	latest  *metric.Metric // the last one any stream made
	used    int64
}

// NewSharedMetric returns one that has seen nothing.
func NewSharedMetric() *SharedMetric { return &SharedMetric{feeds: map[feed]*sharedFeed{}} }

func (m *SharedMetric) of(s *Stream) *sharedFeed {
	key := feed{s.model, s.dimension}
	f := m.feeds[key]
	if f == nil {
		f = &sharedFeed{scatter: metric.NewScatter(s.dimension)}
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

// lend takes an episode's residuals in.
func (m *SharedMetric) lend(s *Stream, z, soft []float32, k int) {
	if m == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	points := &m.of(s).scatter.Points
	m.of(s).scatter.AddPoints(z, soft, k)
	points.Fade(freedomKept * float64(s.dimension))
}

// points are the residuals of all streams, nil where none are shared.
func (m *SharedMetric) points(s *Stream) *metric.Residuals {
	if m == nil {
		return nil
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.of(s).scatter.Points.Clone()
}

// publish makes a stream's new metric the one that new streams start with.
func (m *SharedMetric) publish(key feed, metric *metric.Metric) {
	if m == nil || metric == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if f := m.feeds[key]; f != nil {
		f.latest = metric
	}
}

// carried is the metric a stream starts with, nil where no other stream has one.
func (m *SharedMetric) carried(s *Stream) *metric.Metric {
	if m == nil {
		return nil
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.of(s).latest
}
