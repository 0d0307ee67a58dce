package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Streams tracks streams whose answers may be useless: their embedder changed, or they answer fewer than half
// of the items right that people label. While there are any, it counts the other streams that are answered.
type Streams struct {
	mutex   sync.Mutex
	streams map[Stream]lastEpisode // empty unless one of them is in doubt
}

// Stream is a stream of an input partition.
type Stream struct {
	topic.TopicPartition
	Key record.StreamID
}

// Answer is what an episode shows of its stream.
type Answer struct {
	EmbeddingChanged bool
	Doubtful         bool // fewer than half of the labelled items were right
	Right, Labelled  int  // of the last labelled items
}

// lastEpisode is the last episode of a stream.
type lastEpisode struct {
	Answer
	at      time.Time
	doubted time.Time // when it was last doubtful, with the figures of then
}

const (
	streamLasts = 10 * time.Minute // after a stream's last episode
	doubtLasts  = 5 * time.Minute  // after its last doubtful one
	streamsKept = 4096
	doubtsShown = 100
)

// Answered records an episode of a stream.
func (s *Streams) Answered(of Stream, a Answer, now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before, known := s.streams[of]
	if !known && (len(s.streams) >= streamsKept || len(s.streams) == 0 && !a.EmbeddingChanged && !a.Doubtful) {
		return
	}
	if s.streams == nil {
		s.streams = map[Stream]lastEpisode{}
	}
	next := lastEpisode{Answer: a, at: now, doubted: before.doubted}
	if a.Doubtful {
		next.doubted = now
	} else {
		next.Right, next.Labelled = before.Right, before.Labelled
	}
	s.streams[of] = next
}

// Release drops the streams of a partition that is no longer owned here.
func (s *Streams) Release(tp topic.TopicPartition) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	maps.DeleteFunc(s.streams, func(of Stream, _ lastEpisode) bool { return of.TopicPartition == tp })
}

// expire drops what was long ago, and all streams if none that is left is in doubt.
func (s *Streams) expire(now time.Time) {
	doubted := false
	for of, x := range s.streams {
		if now.Sub(x.at) > streamLasts {
			delete(s.streams, of)
			continue
		}
		if !x.doubted.IsZero() && now.Sub(x.doubted) > doubtLasts {
			x.doubted = time.Time{}
			s.streams[of] = x
		}
		doubted = doubted || x.EmbeddingChanged || !x.doubted.IsZero()
	}
	if !doubted {
		clear(s.streams)
	}
}

// Troubles lists what stops a stage: inputs where the embedding of at least half of the streams answered has
// changed. doubts is what does not: streams that are doubtful, and inputs where the embedding of a few
// streams has changed.
func (s *Streams) Troubles(now time.Time) (stops, doubts []Trouble) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.expire(now)
	all, changed := map[string]int{}, map[string][]string{} // by input
	for of, x := range s.streams {
		all[of.Topic]++
		if x.EmbeddingChanged {
			changed[of.Topic] = append(changed[of.Topic], of.Key.Name)
		}
		if !x.doubted.IsZero() {
			doubts = append(doubts, Trouble{
				What: fmt.Sprintf("stream %s answers %d of the last %d items right that people labelled",
					of.Key.Name, x.Right, x.Labelled),
				Do: "it looks unlike its labels: teach it some of its own items",
			})
		}
	}
	slices.SortFunc(doubts, func(a, b Trouble) int { return cmp.Compare(a.What, b.What) })
	doubts = doubts[:min(len(doubts), doubtsShown)]
	for _, input := range slices.Sorted(maps.Keys(changed)) {
		names := changed[input]
		slices.Sort(names)
		t := Trouble{
			Of: OfEmbedding,
			What: fmt.Sprintf("embedding changed in %d streams of %s: %.200s",
				len(names), input, strings.Join(names, ", ")),
			Cause: "their vectors have nothing in common with those before: another embedder made them",
			Do: "give the new embedder's name, --model, and teach by it, or bring the old one back; " +
				"until then answers are unknown",
		}
		if 2*len(names) >= all[input] {
			stops = append(stops, t)
		} else {
			doubts = append(doubts, t)
		}
	}
	return stops, doubts
}
