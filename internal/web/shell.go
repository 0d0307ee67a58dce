package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The paths under /page/ are for the page alone: they change with it.
func (p *Page) pageRoutes() map[string]handler {
	return map[string]handler{
		"GET /page/shell":  p.pageShell,
		"GET /page/live":   p.pageLive,
		"GET /page/where":  p.pageWhere,
		"GET /page/taught": p.pageTaught,
		"POST /page/hide":  asked(p.pageHide),
	}
}

// shellView is what every page shows around its own part.
type shellView struct {
	Title    string          `json:"title"`
	Teach    bool            `json:"teach"`    // there is a labels topic, and the visitor may teach
	ReadOnly bool            `json:"readOnly"` // the visitor's token is for reading
	Labels   []string        `json:"labels"`
	Marks    map[string]mark `json:"marks"`
	Cameras  []string        `json:"cameras"`
	Waiting  int             `json:"waiting"` // items to review that ask different things
	Groups   int             `json:"groups"`  // of strangers: several that are alike
	Status   statusView      `json:"status"`
}

func (p *Page) pageShell(r *http.Request) (any, error) {
	_, waiting, _ := p.questions.session()
	groups, _ := p.grouped(r.Context())
	readOnly := readsOnly(r)
	return &shellView{
		Title: p.options.Title, Teach: p.options.Say != nil && !readOnly, ReadOnly: readOnly, Labels: p.labels(),
		Marks: p.marked(), Cameras: append([]string{}, p.streams.names()...), Waiting: waiting, Groups: countAlike(groups), Status: p.status(time.Now()),
	}, nil
}

// cachedFor is how long what is work to find may be old.
const cachedFor = 10 * time.Second

// cached keeps what was found for a while, for all visitors.
type cached[T any] struct {
	mu    sync.Mutex
	until time.Time
	value T
}

// of returns what find returned last, or asks it.
func (c *cached[T]) of(find func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.After(c.until) {
		found, err := find()
		if err != nil {
			return found, err
		}
		c.value, c.until = found, now.Add(cachedFor)
	}
	return c.value, nil
}

// drop has the next visitor see what has changed.
func (c *cached[T]) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = time.Time{}
}

// grouped returns the groups of strangers, the largest first; none if recent items are not kept.
func (p *Page) grouped(ctx context.Context) ([]groupView, error) {
	if p.options.Recent == nil {
		return nil, nil
	}
	return p.strangers.of(func() ([]groupView, error) {
		all, _, err := p.nameable(ctx)
		return p.groups(all), err
	})
}

// elsewhereWithin is how long a page waits to hear of other processes.
const elsewhereWithin = 2 * time.Second

// processes returns the addresses of the other processes of the group; none if the brokers do not say.
func (p *Page) processes(ctx context.Context) []string {
	list, _ := p.others.of(func() ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, elsewhereWithin)
		defer cancel()
		list, err := p.stage.Elsewhere(ctx)
		if err != nil {
			p.options.Log.Debug("the other processes are not known", "error", err)
		}
		return list, nil // not known is no fault of the page
	})
	return list
}

// liveView is what the live page shows of cameras and names.
type liveView struct {
	Now     int64        `json:"now"`   // seconds since 1970
	Until   int64        `json:"until"` // the end of the span: now, or the latest item if the feed is older
	Streams []streamView `json:"streams"`
	Where   []seenView   `json:"where"`
	Names   int          `json:"names"`  // that fit, of which Where lists the latest
	Groups  []groupView  `json:"groups"` // the largest
	// Known are streams that are remembered from before and have sent nothing since this process began.
	Known     []string `json:"known"`
	Elsewhere []string `json:"elsewhere"` // addresses of the processes that answer other streams
	Feed      string   `json:"feed"`      // flags with which slkstream feed reaches the input
}

const (
	mostGroupsLive = 3
	mostKnown      = 200
)

// pageLive returns the cameras, and where the latest names were over a span. Names can be chosen by a camera
// and by a text.
func (p *Page) pageLive(r *http.Request) (any, error) {
	query := r.URL.Query()
	span, most := number(query.Get("span"), 60), number(query.Get("names"), 14)
	camera, text := query.Get("camera"), strings.ToLower(strings.TrimSpace(query.Get("find")))
	views, _ := p.streams.list(p.questions.waitingBy())
	p.streams.rates(views)
	v := liveView{Streams: views, Where: []seenView{}, Groups: []groupView{}, Now: time.Now().Unix(), Feed: p.options.Feed}
	p.addRemembered(r.Context(), &v)
	seen := p.where.list(time.Time{}, p.presentNames())
	v.Until = v.Now
	if len(seen) > 0 && v.Now-seen[0].Seen > int64(time.Hour/time.Second) {
		v.Until = seen[0].Seen
	}
	since := v.Until - int64(60*span)
	for _, s := range seen {
		s.Visits = slices.DeleteFunc(s.Visits, func(one visitView) bool { return one.To < since })
		fits := camera == "" || slices.ContainsFunc(s.Visits, func(one visitView) bool { return one.Camera == camera })
		found := text == "" || strings.Contains(strings.ToLower(s.Name), text) ||
			slices.ContainsFunc(s.Visits, func(one visitView) bool { return strings.Contains(strings.ToLower(one.Camera), text) })
		if !fits || !found || len(s.Visits) == 0 && text == "" {
			continue
		}
		if v.Names++; len(v.Where) < most {
			v.Where = append(v.Where, s)
		}
	}
	groups, err := p.grouped(r.Context())
	if err != nil {
		return nil, p.failed(http.StatusInternalServerError, "the unknown items could not be grouped", err)
	}
	v.Groups = append(v.Groups, groups[:min(countAlike(groups), mostGroupsLive)]...)
	return &v, nil
}

// countAlike counts the groups of at least two items, which come first.
func countAlike(groups []groupView) int {
	alone := slices.IndexFunc(groups, func(g groupView) bool { return g.Count < 2 })
	if alone < 0 {
		return len(groups)
	}
	return alone
}

// addRemembered tells the streams that were heard since this process began from those that it remembers: there may be more, from
// before, and those that it does not remember any more another process has by now.
func (p *Page) addRemembered(ctx context.Context, v *liveView) {
	v.Known, v.Elsewhere = []string{}, append([]string{}, p.processes(ctx)...)
	remembered, heard := p.stage.Remembered(), map[string]bool{}
	for i := range v.Streams {
		s := &v.Streams[i]
		heard[s.Stream] = true
		_, own := slices.BinarySearch(remembered, s.Stream)
		s.Moved = !own && len(v.Elsewhere) > 0
	}
	for _, name := range remembered {
		if !heard[name] && len(v.Known) < mostKnown {
			v.Known = append(v.Known, name)
		}
	}
}

// number reads a whole number of a query; otherwise if it is none.
func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= 1000 {
		return n
	}
	return otherwise
}

// presentNames returns what names are called now, in all streams.
func (p *Page) presentNames() func(string) string {
	into := map[string]string{}
	for _, n := range p.stage.Names() {
		if n.Into != "" && n.Stream == "" {
			into[n.Name] = n.Into
		}
	}
	return func(name string) string {
		for range len(into) {
			if into[name] == "" {
				break
			}
			name = into[name]
		}
		return name
	}
}

// pageWhere returns where one name was in the last hours; without a name, when each was seen last.
func (p *Page) pageWhere(r *http.Request) (any, error) {
	name := r.URL.Query().Get("name")
	out := []seenView{}
	for _, s := range p.where.list(time.Time{}, p.presentNames()) {
		if name == "" {
			s.Visits = s.Visits[:0]
		}
		if name == "" || s.Name == name {
			out = append(out, s)
		}
	}
	return map[string]any{"now": time.Now().Unix(), "seen": out}, nil
}

// pageTaught returns the first example of each name, with its picture.
func (p *Page) pageTaught(*http.Request) (any, error) {
	const most = 24
	seen := map[string]bool{}
	list := []exampleView{}
	for e := range p.stage.Examples() {
		if !seen[e.Label] && len(list) < most {
			seen[e.Label] = true
			v := exampleOf(&e)
			v.Image = p.image(e.ItemID, e.ID, e.Attributes)
			list = append(list, v)
		}
	}
	return map[string]any{"examples": list}, nil
}
