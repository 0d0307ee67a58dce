package web

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

const (
	oneVisit    = time.Minute   // a longer absence ends a visit
	visitsReach = 8 * time.Hour // before the latest
	mostSeen    = 500           // names
	mostVisits  = 120           // of a name
)

// visit is a time in which a name was before one camera.
type visit struct {
	camera   string
	from, to time.Time
}

// whereabouts are the visits of each name in the last hours, by the times of the items.
type whereabouts struct {
	mu sync.Mutex
	by map[string][]visit // in the order of to, roughly
}

// add notes where the items of an episode were.
func (w *whereabouts) add(results []record.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[string][]visit{}
	}
	for i := range results {
		if r := &results[i]; !r.Unknown {
			w.one(r.Label, r.Stream, r.Time)
		}
	}
}

func (w *whereabouts) one(name, camera string, at time.Time) {
	list, known := w.by[name]
	for i := range slices.Backward(list) {
		v := &list[i]
		if v.camera != camera || at.Before(v.from.Add(-oneVisit)) {
			continue
		}
		if at.After(v.to.Add(oneVisit)) {
			break
		}
		v.from, v.to = earlier(v.from, at), later(v.to, at)
		return
	}
	if !known && len(w.by) >= mostSeen {
		w.dropLongestAway()
	}
	list = slices.DeleteFunc(list, func(v visit) bool { return v.to.Before(at.Add(-visitsReach)) })
	if list = append(list, visit{camera, at, at}); len(list) > mostVisits {
		list = list[len(list)-mostVisits:]
	}
	w.by[name] = list
}

// dropLongestAway drops the tenth of the names that were seen longest ago.
func (w *whereabouts) dropLongestAway() {
	names := slices.SortedFunc(maps.Keys(w.by), func(a, b string) int { return lastSeen(w.by[a]).Compare(lastSeen(w.by[b])) })
	for _, name := range names[:mostSeen/10] {
		delete(w.by, name)
	}
}

// forget drops names.
func (w *whereabouts) forget(names map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range names {
		delete(w.by, name)
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func lastSeen(list []visit) (t time.Time) {
	for _, v := range list {
		t = later(t, v.to)
	}
	return t
}

// seenView is where a name was, the latest visit last. The times are in seconds since 1970.
type seenView struct {
	Name   string      `json:"name"`
	Seen   int64       `json:"seen"`
	Camera string      `json:"camera"` // where it was last
	Visits []visitView `json:"visits"`
}

type visitView struct {
	Camera string `json:"camera"`
	From   int64  `json:"from"`
	To     int64  `json:"to"`
}

// list returns the names that were seen, the latest first, with their visits since a time. A name that was
// called something else meanwhile is listed as what called says.
func (w *whereabouts) list(since time.Time, called func(string) string) []seenView {
	w.mu.Lock()
	defer w.mu.Unlock()
	visits := map[string][]visit{}
	for name, list := range w.by {
		visits[called(name)] = append(visits[called(name)], list...)
	}
	var out []seenView
	for name, list := range visits {
		slices.SortFunc(list, func(a, b visit) int { return cmp.Or(a.to.Compare(b.to), strings.Compare(a.camera, b.camera)) })
		last := list[len(list)-1]
		v := seenView{Name: name, Seen: last.to.Unix(), Camera: last.camera, Visits: []visitView{}}
		for _, one := range list {
			if !one.to.Before(since) {
				v.Visits = append(v.Visits, visitView{one.camera, one.from.Unix(), one.to.Unix()})
			}
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b seenView) int { return cmp.Or(cmp.Compare(b.Seen, a.Seen), strings.Compare(a.Name, b.Name)) })
	return out
}
