package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A stream counts as doubtful for doubtLasts after its last doubtful episode. At most doubtsKept
// streams are tracked.
const (
	doubtLasts = 5 * time.Minute
	doubtsKept = 100
)

// doubts tracks the streams that recently answered fewer than half of their labelled items right.
type doubts struct {
	mutex   sync.Mutex
	streams map[string]doubt
}

type doubt struct {
	right, all int
	at         time.Time
}

func (d *doubts) add(stream string, right, all int, now time.Time) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.forget(now)
	if d.streams == nil {
		d.streams = map[string]doubt{}
	}
	if _, known := d.streams[stream]; known || len(d.streams) < doubtsKept {
		d.streams[stream] = doubt{right, all, now}
	}
}

// forget drops expired entries.
func (d *doubts) forget(now time.Time) {
	maps.DeleteFunc(d.streams, func(_ string, x doubt) bool { return now.Sub(x.at) > doubtLasts })
}

// list returns one trouble for each doubtful stream, by name.
func (d *doubts) list(now time.Time) []Trouble {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.forget(now)
	var out []Trouble
	for stream, x := range d.streams {
		out = append(out, Trouble{
			What: fmt.Sprintf("stream %s answers %d of the last %d items right that people labelled", stream, x.right,
				x.all),
			Do: "it looks unlike its labels: teach it some of its own items",
		})
	}
	slices.SortFunc(out, func(a, b Trouble) int { return cmp.Compare(a.What, b.What) })
	return out
}
