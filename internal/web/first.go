package web

import (
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/first"
)

const (
	firstEach  = 10 // first answers that are shown a second
	firstBurst = 5  // beyond that, at once
)

// AnsweredFirst shows first answers, as many as an eye can follow.
func (p *Page) AnsweredFirst(list []first.Answer) {
	for i := range list {
		if a := &list[i]; !a.Late && p.wantsFirst() {
			first := itemOf(a.Item(), a.Result())
			p.first(&first)
		}
	}
}

// wantsFirst says whether the page would show one more first answer now.
func (p *Page) wantsFirst() bool { return p.clients.any() && p.pace.take(time.Now()) }

// first shows an item with its first answer.
func (p *Page) first(of *item) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.add(of)
	p.clients.send(message("first", []itemView{p.itemView(of)}))
}

// settle shows the results of items that were shown with their first answers.
func (p *Page) settle(results []record.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var settled []itemView
	for i := range results {
		if of := p.shown.settle(&results[i]); of != nil {
			settled = append(settled, p.itemView(of))
		}
	}
	if settled != nil {
		p.clients.send(message("settled", settled))
	}
}
