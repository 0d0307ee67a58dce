package web

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
)

// namedGroups are groups of strangers that somebody has named on this page. Items that were answered before keep their answers, if
// the stage corrects none; but nobody is asked about them again, as long as an example of the group is there.
type namedGroups struct {
	mu     sync.Mutex
	groups []*namedGroup
	hidden map[string]bool // ids of results: the items of groups that somebody has put away
}

type namedGroup struct {
	items    map[string]bool // ids of results
	examples []string        // those that were taught, and not taken back here
	at       time.Time       // of being taught
}

// nameable returns the strangers in groups that have no name yet, and those in groups that were put away.
func (p *Page) nameable(ctx context.Context) (asked, hidden []recent.Stranger, err error) {
	all, err := p.stage.Strangers(ctx)
	if err != nil {
		return nil, nil, err
	}
	p.named.mu.Lock()
	defer p.named.mu.Unlock()
	holding := slices.DeleteFunc(slices.Clone(p.named.groups), func(g *namedGroup) bool {
		return !slices.ContainsFunc(g.examples, func(id string) bool {
			_, inForce := p.stage.Example(id)
			return inForce || time.Since(g.at) < cachedFor // the stage may not have read it
		})
	})
	all = slices.DeleteFunc(slices.Clone(all), func(s recent.Stranger) bool {
		return slices.ContainsFunc(holding, func(g *namedGroup) bool { return g.items[s.ID] })
	})
	asked, hidden = p.named.part(all)
	return asked, hidden, nil
}

// part tells strangers in groups that were put away from the others. What comes later and is alike is put away with them, until
// most of a group is new.
func (n *namedGroups) part(all []recent.Stranger) (asked, hidden []recent.Stranger) {
	of, items := map[int]int{}, map[int]int{} // by group
	for i := range all {
		items[all[i].Group]++
		if n.hidden[all[i].ID] {
			of[all[i].Group]++
		}
	}
	n.hidden = map[string]bool{}
	for _, s := range all {
		if 2*of[s.Group] < items[s.Group] {
			asked = append(asked, s)
			continue
		}
		hidden = append(hidden, s)
		n.hidden[s.ID] = true
	}
	return asked, hidden
}

// pageHide puts the groups of these items away, or shows them again. All that the page knows of groups it knows by recent items: it
// forgets what was put away with them.
func (p *Page) pageHide(r *http.Request, body *struct {
	IDs    []string `json:"ids"` // of results
	Hidden bool     `json:"hidden"`
},
) (any, error) {
	all, err := p.stage.Strangers(r.Context())
	if err != nil {
		return nil, p.failed(http.StatusInternalServerError, "the unknown items could not be grouped", err)
	}
	groups, ids := map[int]bool{}, map[string]bool{}
	for _, id := range body.IDs {
		ids[id] = true
	}
	for i := range all {
		if ids[all[i].ID] {
			groups[all[i].Group] = true
		}
	}
	p.named.mu.Lock()
	defer p.named.mu.Unlock()
	for i := range all {
		if !groups[all[i].Group] {
			continue
		}
		if body.Hidden {
			p.named.hidden[all[i].ID] = true
		} else {
			delete(p.named.hidden, all[i].ID)
		}
	}
	p.strangers.drop()
	return nil, nil
}

// nameGroups keeps which strangers are in one group with those that were taught now. A group that is no more is left out.
func (p *Page) nameGroups(ctx context.Context, results []string) {
	all, err := p.stage.Strangers(ctx)
	if err != nil {
		return // they are asked about again
	}
	there := map[string]bool{}
	groups := map[int]*namedGroup{}
	for i := range all {
		s := &all[i]
		there[s.ID] = true
		if slices.Contains(results, s.ID) {
			if groups[s.Group] == nil {
				groups[s.Group] = &namedGroup{items: map[string]bool{}, at: time.Now()}
			}
			groups[s.Group].examples = append(groups[s.Group].examples, s.Name)
		}
	}
	for i := range all {
		if g := groups[all[i].Group]; g != nil {
			g.items[all[i].ID] = true
		}
	}
	p.named.mu.Lock()
	defer p.named.mu.Unlock()
	p.named.groups = slices.DeleteFunc(p.named.groups, func(g *namedGroup) bool {
		for id := range g.items {
			if there[id] {
				return false
			}
		}
		return true
	})
	for _, g := range groups {
		p.named.groups = append(p.named.groups, g)
	}
}

// takeBack forgets that an example was taught: without any, its group has no name again.
func (n *namedGroups) takeBack(example string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.groups {
		g.examples = slices.DeleteFunc(g.examples, func(id string) bool { return id == example })
	}
}
