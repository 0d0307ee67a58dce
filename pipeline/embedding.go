package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// embeddings tracks streams whose embedder changed and, while there are any, the other streams
// that were answered.
type embeddings struct {
	mutex   sync.Mutex
	streams map[embedded]embedding // empty unless one of them has changed
}

type embedded struct {
	topic.TopicPartition
	key record.Stream
}

type embedding struct {
	changed bool
	at      time.Time
}

const (
	embeddingLasts = 10 * time.Minute // after a stream's last episode
	embeddingsKept = 4096
)

// observe records an episode of a stream.
func (e *embeddings) observe(of embedded, changed bool, now time.Time) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.streams == nil {
		e.streams = map[embedded]embedding{}
	}
	if _, known := e.streams[of]; known || len(e.streams) < embeddingsKept && (changed || len(e.streams) > 0) {
		e.streams[of] = embedding{changed, now}
	}
}

// release drops the streams of a partition that is no longer owned here.
func (e *embeddings) release(tp topic.TopicPartition) {
	e.drop(func(of embedded, _ embedding) bool { return of.TopicPartition == tp })
}

func (e *embeddings) drop(which func(embedded, embedding) bool) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	maps.DeleteFunc(e.streams, which)
	for _, x := range e.streams {
		if x.changed {
			return
		}
	}
	clear(e.streams)
}

// troubles lists the inputs with streams whose embedding changed. With whole it lists the inputs where these
// are at least half of the streams answered, without it the other ones.
func (e *embeddings) troubles(now time.Time, whole bool) []Trouble {
	e.drop(func(_ embedded, x embedding) bool { return now.Sub(x.at) > embeddingLasts })
	e.mutex.Lock()
	defer e.mutex.Unlock()
	all, names := map[string]int{}, map[string][]string{}
	for of, x := range e.streams {
		all[of.Topic]++
		if x.changed {
			names[of.Topic] = append(names[of.Topic], of.key.Name)
		}
	}
	var list []Trouble
	for _, name := range slices.Sorted(maps.Keys(names)) {
		changed := names[name]
		if whole != (2*len(changed) >= all[name]) {
			continue
		}
		slices.Sort(changed)
		list = append(list, Trouble{
			Of: ofEmbedding, What: fmt.Sprintf("embedding changed in %d streams of %s: %.200s", len(changed), name,
				strings.Join(changed, ", ")),
			Cause: "their vectors have nothing in common with those before: another embedder made them",
			Do: "give the new embedder's name, --model, and teach by it, or bring the old one back; " +
				"until then answers are unknown",
		})
	}
	return list
}
