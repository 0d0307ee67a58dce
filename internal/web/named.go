package web

import (
	"context"
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
}

type namedGroup struct {
	items    map[string]bool // ids of results
	examples []string        // those that were taught, and not taken back here
	at       time.Time       // of being taught
}

// nameable returns the strangers in groups that have no name yet.
func (p *Page) nameable(ctx context.Context) ([]recent.Stranger, error) {
	all, err := p.stage.Strangers(ctx)
	if err != nil {
		return nil, err
	}
	p.named.mu.Lock()
	defer p.named.mu.Unlock()
	holding := slices.DeleteFunc(slices.Clone(p.named.groups), func(g *namedGroup) bool {
		return !slices.ContainsFunc(g.examples, func(id string) bool {
			_, inForce := p.stage.Example(id)
			return inForce || time.Since(g.at) < cachedFor // the stage may not have read it
		})
	})
	return slices.DeleteFunc(slices.Clone(all), func(s recent.Stranger) bool {
		return slices.ContainsFunc(holding, func(g *namedGroup) bool { return g.items[s.ID] })
	}), nil
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
