// Package web is the live page of a stage: pictures with their labels as they come, how well and how fast
// they are answered, a map of the last episode, and a way to teach. Everything it serves is in the binary.
//
// The page only looks on. It takes what it is offered when it has time for it, and the stage never waits for
// it.
package web

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/solver/stream"
)

// Options say what the page shows and what it may do.
type Options struct {
	Title    string          // what is watched: a consumer group, the demo
	Note     string          // a sentence under the title
	Labels   func() []string // the labels a person can choose from, besides those seen; nil: none
	ImageURL string          // where pictures are: {id} stands for the item's id; "": the attribute image
	// ImageHosts are the hosts, with their ports, that an attribute image may name; "*" is any. Pictures in
	// data: URLs are always shown.
	ImageHosts []string
	Recent     *recent.Store // the last answered items; nil: none are kept
	// Answer answers vectors as pipeline.Stage.Ask does; nil: it does not.
	Answer func(stream, model string, vectors [][]float32) ([]stream.Answer, error)
	// Enter lets vectors enter a stream, as items of one moment; nil: none may. Owner is where the process that
	// has a stream is found; "": nobody says; nil with Answer.
	Enter func(ctx context.Context, stream, model string, vectors [][]float32) error
	Owner func(ctx context.Context, stream string) (string, error)
	// Say writes records to LabelsTopic and returns when they are there. nil: there is no such topic.
	Say         func(context.Context, []record.Out) error
	LabelsTopic string
	// Example is the example in force of an id; nil: not known.
	Example func(id string) (record.Example, bool)
	// ForgetName forgets a name and says what held it; nil with Say. It wraps record.ErrNoName.
	ForgetName func(context.Context, record.Name) ([]record.Receipt, error)
	// Names are the names in force, by the keys of their records; nil: not known.
	Names func() []record.Name
	// Examples and Rejections are those in force, the latest last; nil: not known.
	Examples   func() iter.Seq[record.Example]
	Rejections func() []record.NotThis
	// Counts are how many of both each class has; nil: not known.
	Counts func() (examples, rejections map[string]int)
	// Strangers are the recent unknown items in groups; WouldCorrect the recent items that examples would call
	// otherwise; nil: not known.
	Strangers    func(context.Context) ([]recent.Stranger, error)
	WouldCorrect func([]record.Example) []recent.Corrected
	Status       func() pipeline.Summary
	// UserHeader is the header in which a proxy names who is signed in; "": nobody is named.
	UserHeader string
	MaxWrong   float64 // the share of sure answers that may be wrong; 0: none is called sure
	Log        *slog.Logger
}

// Item is an answered embedding.
type Item struct {
	Result  record.Result
	Example string // the id under which it is taught
	Vector  []float32
	Taught  bool // it carried its label
}

// Episode is an answered episode.
type Episode struct {
	Stream     string        `json:"stream"`
	Number     int64         `json:"episode"`
	Closed     string        `json:"closed"`
	Items      []Item        `json:"-"`
	Edges      [][2]int32    `json:"edges"` // the graph, pairs of items
	Trace      []float64     `json:"trace"` // the objective, step by step
	Iterations int           `json:"iterations"`
	Warm       bool          `json:"warm"`
	Admitted   int           `json:"admitted"`
	Solve      time.Duration `json:"-"`
	Scores     []Score       `json:"scores"` // accuracy so far, where the truth is known
	// Sure are parts of the answers to labelled items, the surest ones: how large, and how much of it is wrong.
	Sure [][2]float64 `json:"sure,omitempty"`
}

// Score is how often one way of answering was right so far.
type Score struct {
	Name   string `json:"name"`
	Right  int64  `json:"right"`
	All    int64  `json:"all"`
	Late   int64  `json:"late"` // of the last few hundred
	LateOf int64  `json:"lateOf"`
}

const (
	shownEvery = 500 * time.Millisecond // an eye follows no more
	keptBytes  = 48 << 20               // of items that can still be taught: minutes of what is shown
	keptPoints = 400                    // of the accuracy curve
)

// Page serves the live page.
type Page struct {
	options Options
	offered chan *Episode
	next    atomic.Int64 // when the next episode is welcome, Unix nanoseconds
	clients clients
	asked   allowance
	pace    allowance // of first answers
	first   firsts
	news    chan news

	mu        sync.Mutex
	last      []byte   // the last episode that was shown, encoded
	unseen    *Episode // a later one, that came while nobody looked on
	speed     speed
	status    pipeline.Summary
	curve     curve
	shown     shown
	takenBack []record.Example // on this page, the latest last: so that it can be undone

	streams   streams    // with a lock of its own
	questions *questions // with a lock of its own
	position  placement
}

// New returns a page that shows nothing until Run runs.
func New(o Options) *Page {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Page{
		streams:   streams{now: time.Now, by: map[string]*streamCounts{}},
		questions: newQuestions(), options: o,
		offered: make(chan *Episode, 1), shown: shown{items: map[string]*Item{}},
		asked: allowance{each: askedEach, burst: askedBurst}, pace: allowance{each: firstEach, burst: firstBurst},
		first: firsts{by: map[string]*firstAnswer{}}, news: make(chan news, mostNews),
	}
}

// Wants says whether the page would take an episode now: somebody looks on, and has seen the last one. Ask
// before building one.
func (p *Page) Wants() bool {
	return time.Now().UnixNano() >= p.next.Load() && len(p.offered) == 0 && p.clients.any()
}

// Offer shows an episode, unless the page is busy with another. It never waits. The episode is the page's
// from then on.
func (p *Page) Offer(e *Episode) {
	select {
	case p.offered <- e:
		p.next.Store(time.Now().Add(shownEvery).UnixNano())
	default:
	}
}

// Told takes in the answers of an episode, the items whose label the stage asks for, and whether the stream
// is doubtful: right for fewer than half of the items that people labelled.
func (p *Page) Told(results []record.Result, reviews []record.Review, doubtful bool) {
	p.streams.add(results, doubtful)
	p.questions.Ask(reviews...)
	p.questions.Named(results)
	p.settle(results)
}

// Run works for the page until ctx ends, and then lets its visitors go.
func (p *Page) Run(ctx context.Context) {
	defer p.clients.close()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-p.offered:
			if p.clients.any() {
				p.clients.send(p.show(e))
			} else {
				p.keep(e)
			}
		case n := <-p.news:
			p.clients.send(p.announce(n))
		case now := <-second.C:
			if p.clients.any() {
				p.clients.send(p.report(now))
			}
		}
	}
}

// keep takes an episode in that nobody looks at: the next visitor begins with it.
func (p *Page) keep(e *Episode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.curve.add(e.Scores)
	p.unseen = e
}

// catchUp shows what came while nobody looked on.
func (p *Page) catchUp() {
	p.mu.Lock()
	e := p.unseen
	p.unseen = nil
	p.mu.Unlock()
	if e != nil {
		p.show(e)
	}
	p.report(time.Now())
}

// show takes an episode in and returns its message.
func (p *Page) show(e *Episode) []byte {
	vectors := make([][]float32, len(e.Items))
	for i := range e.Items {
		vectors[i] = e.Items[i].Vector
	}
	points := project(vectors)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.position.align(points, e.Items)
	for i := range e.Items {
		p.shown.add(&e.Items[i])
	}
	p.curve.add(e.Scores)
	p.last = message("episode", p.view(e, points))
	return p.last
}

// report asks the stage how it is and returns the message.
func (p *Page) report(now time.Time) []byte {
	if p.options.Status == nil {
		return nil
	}
	status := p.options.Status()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
	p.speed.add(now, status.Answered)
	return message("status", statusView{status, p.speed.perSecond()})
}

// welcome is what a new visitor needs to begin with.
func (p *Page) welcome() [][]byte {
	var labels []string
	if p.options.Labels != nil {
		labels = p.options.Labels()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	hello := message("hello", helloView{
		p.options.Title, p.options.Note, labels, p.options.Say != nil,
		p.curve.points,
	})
	messages := [][]byte{hello, message("status", statusView{p.status, p.speed.perSecond()})}
	if p.last != nil {
		messages = append(messages, p.last)
	}
	return messages
}

// message is a server-sent event.
func message(name string, value any) []byte {
	b, err := json.Marshal(value)
	if err != nil { // an attribute that is no JSON cannot come this far; the page says what did
		b, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	out := append([]byte("event: "+name+"\ndata: "), b...)
	return append(out, "\n\n"...)
}
