package web

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

const (
	minutes     = 60   // that the page shows
	mostStreams = 1000 // counted; beyond that, those idle longest are evicted
	unsureBelow = .5   // confidence

	recentMinutes = 5 // over which answers a minute are counted
)

// minute holds the counts of one minute.
type minute struct {
	at       int64 // minutes since 1970
	Answered int32 `json:"answered"`
	Unknown  int32 `json:"unknown"`
	Unsure   int32 `json:"unsure"`
}

// lastHour is a ring of minutes.
type lastHour [minutes]minute

func (h *lastHour) add(now time.Time, counts minute) {
	n := now.Unix() / 60
	m := &h[n%minutes]
	if m.at != n {
		*m = minute{at: n}
	}
	m.Answered += counts.Answered
	m.Unknown += counts.Unknown
	m.Unsure += counts.Unsure
}

// list returns the last hour, minute by minute, the oldest first.
func (h *lastHour) list(now time.Time) []minute {
	out := make([]minute, minutes)
	for i := range out {
		n := now.Unix()/60 - minutes + 1 + int64(i)
		if n < 0 { // a clock that is not set yet
			continue
		}
		if m := h[n%minutes]; m.at == n {
			out[i] = m
		}
	}
	return out
}

// streamCounts are the counts of one stream over the last hour.
type streamCounts struct {
	lastHour
	since       time.Time // time of its first answers
	seen, event time.Time // time of its last answers, and the latest event time among them
	doubtful    bool
	unlike      bool
}

// streams counts the answers of each stream over the last hour.
type streams struct {
	mutex sync.Mutex
	now   func() time.Time
	all   lastHour
	by    map[string]*streamCounts
}

// add counts the answers of an episode, which belong to one stream.
func (s *streams) add(results []record.Result, doubtful bool) {
	if len(results) == 0 {
		return
	}
	counts := minute{Answered: int32(len(results))}
	var event time.Time
	for i := range results {
		r := &results[i]
		if r.Unknown {
			counts.Unknown++
		} else if r.Confidence < unsureBelow {
			counts.Unsure++
		}
		if r.Time.After(event) {
			event = r.Time
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	s.all.add(now, counts)
	c := s.by[results[0].Stream]
	if c == nil {
		if len(s.by) >= mostStreams {
			s.dropSilent()
		}
		c = &streamCounts{since: now}
		s.by[results[0].Stream] = c
	}
	c.add(now, counts)
	c.seen, c.event, c.doubtful = now, event, doubtful
}

// compared notes whether the items of an episode that was added look unlike the examples.
func (s *streams) compared(results []record.Result, unlike bool) {
	if len(results) == 0 {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if c := s.by[results[0].Stream]; c != nil {
		c.unlike = unlike
	}
}

// dropSilent evicts the tenth of the streams that have been idle longest.
func (s *streams) dropSilent() {
	idle := func(a, b string) int { return s.by[a].seen.Compare(s.by[b].seen) }
	names := slices.SortedFunc(maps.Keys(s.by), idle)
	for _, name := range names[:mostStreams/10] {
		delete(s.by, name)
	}
}

// streamView is one stream as the API shows it.
type streamView struct {
	Stream    string    `json:"stream"`
	PerMinute float64   `json:"perMinute"` // answers, over the last five minutes or since the first
	Answered  int64     `json:"answered"`  // in the last hour, as are Unknown and Unsure
	Unknown   int64     `json:"unknown"`
	Unsure    int64     `json:"unsure"`
	Delay     float64   `json:"delaySeconds"` // from the event time of its last item to its answer
	Seen      time.Time `json:"seen"`
	Doubtful  bool      `json:"doubtful"`
	Unlike    bool      `json:"unlike"`  // its items look unlike the examples
	Waiting   int       `json:"waiting"` // items that wait for review
	// Rate is the number of answers of each two minutes of the last hour; only the page's own path has it.
	Rate []int32 `json:"rate,omitempty"`
	// Moved: another process answers it by now; only the page's own path has it.
	Moved bool `json:"moved,omitempty"`
}

func (s *streams) list(waiting map[string]int) (views []streamView, hour []minute) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	views = []streamView{}
	for name, c := range s.by {
		v := streamView{
			Stream: name, Seen: c.seen, Doubtful: c.doubtful, Unlike: c.unlike,
			Delay: max(0, c.seen.Sub(c.event).Seconds()), Waiting: waiting[name],
		}
		over := min(recentMinutes, max(1, now.Sub(c.since).Minutes()))
		for i, m := range c.list(now) {
			v.Answered += int64(m.Answered)
			v.Unknown += int64(m.Unknown)
			v.Unsure += int64(m.Unsure)
			if i >= minutes-recentMinutes {
				v.PerMinute += float64(m.Answered) / over
			}
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b streamView) int {
		return cmp.Or(cmp.Compare(b.Answered, a.Answered), cmp.Compare(a.Stream, b.Stream))
	})
	return views, s.all.list(now)
}

// names lists the streams, by name.
func (s *streams) names() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Sorted(maps.Keys(s.by))
}

// rates sets the rate of the first streams of a list: as many as a page can show.
func (s *streams) rates(views []streamView) {
	const most, each = 200, 2
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	for i := range views[:min(len(views), most)] {
		c := s.by[views[i].Stream]
		if c == nil {
			continue
		}
		views[i].Rate = make([]int32, minutes/each)
		for j, m := range c.list(now) {
			views[i].Rate[j/each] += m.Answered
		}
	}
}

// apiStreams returns the counts of each stream over the last hour, and the number of dead letters by reason.
func (p *Page) apiStreams(*http.Request) (any, error) {
	views, hour := p.streams.list(p.questions.waitingBy())
	dead := map[string]int64{}
	maps.Copy(dead, p.stage.Status().Reasons)
	return map[string]any{"streams": views, "minutes": hour, "dead": dead}, nil
}
