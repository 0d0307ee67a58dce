package web

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

const (
	mostGroups    = 100 // shown
	mostDifferent = 4   // members of a group shown beside the middle one
	mostTaught    = 5   // members of a group that are taught when it is named
	mostPreviewed = 24  // items shown of a preview

	longestPreview = 10 * time.Second // it compares recent items with examples, and both may be many
)

// groupView is a group of similar strangers.
type groupView struct {
	Count     int          `json:"count"`
	Middle    RecentView   `json:"middle"`    // the member nearest to the mean
	Different []RecentView `json:"different"` // the members least like the mean
	Teach     []string     `json:"teach"`     // different members, to be taught when the group is named
	Streams   []string     `json:"streams"`
	First     time.Time    `json:"first"`
	Last      time.Time    `json:"last"`

	vector []float32 // of the middle
}

// apiUnknown lists the groups of recent strangers, the largest first; with ?hidden=true those that were put away.
func (p *Page) apiUnknown(r *http.Request) (any, error) {
	if p.options.Recent == nil {
		return nil, errNoRecent
	}
	all, hidden, err := p.nameable(r.Context())
	if err != nil {
		return nil, p.failed(http.StatusInternalServerError, "the unknown items could not be grouped", err)
	}
	away := map[int]bool{}
	for i := range hidden {
		away[hidden[i].Group] = true
	}
	if r.URL.Query().Get("hidden") == "true" {
		all = hidden
	}
	groups := p.groups(all)
	shown := groups[:min(len(groups), mostGroups)]
	p.renew(shown)
	_, since := p.options.Recent.Reach()
	return map[string]any{
		"groups": shown, "all": len(groups), "items": len(all), "since": since,
		"hidden": len(away), "labels": p.labels(),
	}, nil
}

// groups describes the groups of strangers, the largest first.
func (p *Page) groups(all []recent.Stranger) []groupView {
	members := map[int][]*recent.Stranger{}
	for i := range all {
		members[all[i].Group] = append(members[all[i].Group], &all[i])
	}
	groups := []groupView{}
	for _, list := range members {
		groups = append(groups, p.group(list))
	}
	slices.SortFunc(groups, func(a, b groupView) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last),
			cmp.Compare(a.Middle.Result, b.Middle.Result))
	})
	return groups
}

var errNoRecent = refuse(http.StatusConflict, "recent items are not kept: start the stage with --recent")

// group describes a group of strangers, listed by event time.
func (p *Page) group(list []*recent.Stranger) groupView {
	v := groupView{
		Count: len(list), First: list[0].Time, Last: list[len(list)-1].Time,
		Different: []RecentView{},
	}
	mean := make([]float32, len(list[0].Vector))
	for _, it := range list {
		kernel.Axpy(1, it.Vector, mean)
		if !slices.Contains(v.Streams, it.Stream) {
			v.Streams = append(v.Streams, it.Stream)
		}
	}
	slices.Sort(v.Streams)
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *recent.Stranger) int { // most like the mean first
		return cmp.Compare(kernel.Dot(b.Vector, mean), kernel.Dot(a.Vector, mean))
	})
	v.Middle, v.vector = p.recentView(&list[0].Item), list[0].Vector
	for _, it := range slices.Backward(list[max(1, len(list)-mostDifferent):]) {
		v.Different = append(v.Different, p.recentView(&it.Item))
	}
	inner := list[:min(len(list), max(3, len(list)*3/4))] // outliers may be something else
	for _, it := range apart(inner, mostTaught) {
		v.Teach = append(v.Teach, it.ID)
	}
	return v
}

// apart chooses up to so many of a list: the first, and then always the one that is least like those chosen.
func apart(list []*recent.Stranger, most int) (out []*recent.Stranger) {
	like := make([]float32, len(list)) // similarity to the nearest of out
	next := 0
	for range min(most, len(list)) {
		chosen := list[next]
		out = append(out, chosen)
		like[next] = float32(math.Inf(1)) // never chosen again
		least := float32(math.Inf(1))
		for i, it := range list {
			if like[i] = max(like[i], kernel.Dot(it.Vector, chosen.Vector)); like[i] < least {
				least, next = like[i], i
			}
		}
	}
	return out
}

// taken says how many of the items that would get a name have another one now.
type taken struct {
	Label string `json:"label"`
	Count int    `json:"count"`
}

// apiPreview returns the recent items that would be called so if some were taught, what these are called now, how many are called so
// already, and whether they are corrected then.
func (p *Page) apiPreview(r *http.Request, body *lessons) (any, error) {
	examples, err := p.examples(r, body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), longestPreview)
	defer cancel()
	corrected, err := p.stage.WouldCorrect(ctx, examples)
	if err != nil {
		return nil, refuse(http.StatusServiceUnavailable,
			"a preview of so many items takes too long: choose fewer")
	}
	items := []RecentView{}
	count, already, from := 0, 0, map[string]int{}
	if p.options.Recent != nil {
		p.options.Recent.Each(func(it *recent.Item) {
			if !it.Unknown && it.Label == body.Label {
				already++
			}
		})
	}
	for _, c := range corrected {
		if slices.ContainsFunc(examples, func(e record.Example) bool { return e.ID == c.Name }) {
			continue
		}
		if !c.WasUnknown {
			from[c.Was]++
		}
		if count++; len(items) < mostPreviewed {
			v := p.recentView(&c.Item)
			v.Was = c.Was
			items = append(items, v)
		}
	}
	named := []taken{}
	for label, n := range from {
		named = append(named, taken{label, n})
	}
	slices.SortFunc(named, func(a, b taken) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Label, b.Label)) })
	return map[string]any{
		"count": count, "already": already, "named": named, "items": items, "corrected": p.options.Corrects,
	}, nil
}

// mostSplit is the maximum number of examples that one request may teach.
const mostSplit = 1000

// lessons is the body of requests that teach, or would teach, several items one label.
type lessons struct {
	IDs   []string `json:"ids"`
	Label string   `json:"label"`
}

// examples returns the examples to teach: all, or an error.
func (p *Page) examples(r *http.Request, body *lessons) ([]record.Example, error) {
	if err := newly("label", &body.Label); err != nil {
		return nil, err
	}
	if len(body.IDs) == 0 || len(body.IDs) > mostSplit {
		return nil, wrong("ids has 1 to %d ids", mostSplit)
	}
	all, err := p.findAll(body.IDs...)
	if err != nil {
		return nil, err
	}
	at, by := time.Now(), p.user(r)
	examples := make([]record.Example, len(body.IDs))
	for i, id := range body.IDs {
		f, ok := all[id]
		if !ok {
			return nil, refuse(http.StatusNotFound,
				"%q is neither an example nor among the recent items of this process; nothing was taught", id)
		}
		e := f.Example
		e.Label, e.Time, e.At, e.By = body.Label, at, at, by
		examples[i] = e
	}
	return examples, nil
}
