package web

import (
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

const (
	firstEach  = 10  // first answers that are shown a second
	firstBurst = 5   // beyond that, at once
	mostFirst  = 256 // first answers that are remembered, the latest
	mostNews   = 64  // messages of first answers that wait
)

// firstAnswer is what visitors were told of an item before its episode was answered.
type firstAnswer struct {
	wasView
	settled bool
}

// firsts are the first answers that visitors saw.
type firsts struct {
	mutex sync.Mutex
	by    map[string]*firstAnswer // by the item's id
	order []string                // the oldest first
	open  int                     // that are not settled
}

func (f *firsts) add(r *record.Result) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.by[r.ID] == nil {
		f.order = append(f.order, r.ID)
	} else {
		f.remove(r.ID)
	}
	f.by[r.ID] = &firstAnswer{wasView: wasView{r.Label, r.Unknown}}
	f.open++
	for len(f.order) > mostFirst {
		f.remove(f.order[0])
		f.order = f.order[1:]
	}
}

// remove takes an answer out that may be there; its id stays in the order.
func (f *firsts) remove(id string) {
	if a := f.by[id]; a != nil && !a.settled {
		f.open--
	}
	delete(f.by, id)
}

// settle returns the results of items that wait to be settled.
func (f *firsts) settle(results []record.Result) (settled []Item) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for i := 0; i < len(results) && f.open > 0; i++ {
		r := &results[i]
		if a := f.by[r.ID]; a != nil && !a.settled {
			a.settled = true
			f.open--
			settled = append(settled, Item{Result: *r, Example: r.ItemID})
		}
	}
	return settled
}

// changed is the first answer of an item if its result says something else; nil: it has none, or the same.
func (f *firsts) changed(r *record.Result) *wasView {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if a := f.by[r.ID]; a != nil && a.wasView != (wasView{r.Label, r.Unknown}) {
		return &wasView{a.Label, a.Unknown}
	}
	return nil
}

// forget drops the answers with these labels.
func (f *firsts) forget(labels map[string]bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	kept := f.order[:0]
	for _, id := range f.order {
		if labels[f.by[id].Label] {
			f.remove(id)
		} else {
			kept = append(kept, id)
		}
	}
	f.order = kept
}

// news are items that were answered at once, or have been settled since.
type news struct {
	event string
	items []Item
}

// WantsFirst says whether the page would show one more first answer now: somebody looks on, and an eye can
// follow. Ask before building one.
func (p *Page) WantsFirst() bool {
	return p.clients.any() && len(p.news) < mostNews/2 && p.pace.take(time.Now())
}

// OfferFirst shows an item with its first answer, which is told before its result. It never waits. The item
// is the page's from then on.
func (p *Page) OfferFirst(item *Item) {
	p.first.add(&item.Result)
	p.tell(news{"first", []Item{*item}})
}

// settle tells visitors how items that they saw unsettled were answered in the end.
func (p *Page) settle(results []record.Result) {
	if settled := p.first.settle(results); len(settled) > 0 {
		p.tell(news{"settled", settled})
	}
}

func (p *Page) tell(n news) {
	select {
	case p.news <- n:
	default:
	}
}

// announce takes first answers or their results in and returns the message.
func (p *Page) announce(n news) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	views := make([]itemView, len(n.items))
	for i := range n.items {
		item := &n.items[i]
		old := p.shown.items[item.Result.ID]
		if old != nil && item.Vector == nil { // a result: the item is known
			item.Example, item.Vector, item.Taught = old.Example, old.Vector, old.Taught
		}
		if item.Vector != nil {
			p.shown.add(item)
		}
		views[i] = p.itemView(item)
	}
	return message(n.event, views)
}
