// Package web is the live page of a stage: pictures with their labels as they come, how well and how fast
// they are answered, a map of the last episode, and a way to teach. Everything it serves is in the binary.
//
// The page only observes. It takes an episode when it has time for it, and the stage never waits for it.
package web

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// Options say what the page shows and what it may do.
type Options struct {
	Title    string  // what is watched: a consumer group, the demo
	Demo     []Scene // the demo's cameras; none: not the demo
	ImageURL string  // where pictures are: {id} stands for the item's id; "": the attribute image
	// ImageHosts are the hosts, with their ports, that an attribute image may name; "*" is any. Pictures in
	// data: URLs are always shown.
	ImageHosts []string
	Recent     *recent.Store // the last answered items; nil: none are kept
	// Say writes records to LabelsTopic and returns when they are there. nil: there is no such topic.
	Say         func(context.Context, []record.Out) error
	LabelsTopic string
	Corrects    bool   // later labels change what recent items are called
	Feed        string // flags with which slkstream feed reaches the input, for a page without items
	// ForgetName forgets a name and says what held it; nil with Say. It wraps record.ErrNoName.
	ForgetName func(context.Context, record.Name) ([]record.Receipt, error)
	// UserHeader is the header in which a proxy names who is signed in; "": nobody is named.
	UserHeader string
	MaxWrong   float64 // the share of sure answers that may be wrong; 0: none is called sure
	Log        *slog.Logger
}

// stage is the running stage with its labels, as the page uses them. Tests have one of their own.
type stage interface {
	Status() pipeline.Summary
	Dimension(model string) int // of the feed's vectors; 0: not known
	Classes() []string
	Names() []record.Name
	Example(id string) (record.Example, bool)
	Examples() iter.Seq[record.Example] // the latest last, as are Rejections
	Rejections() []record.NotThis
	Counts() (examples, rejections map[string]int) // by class
	Current() *labels.Version                      // of the labels
	Strangers(context.Context) ([]recent.Stranger, error)
	WouldCorrect(context.Context, []record.Example) ([]recent.Corrected, error)
	Ask(stream, model string, vectors [][]float32) ([]stream.Answer, error)
	Enter(ctx context.Context, stream, model string, vectors [][]float32) error
	Owner(ctx context.Context, stream string) (string, error)
	Remembered() []string // streams
	Linked() []labels.Linked
	Elsewhere(context.Context) ([]string, error)
}

// running is a stage of the pipeline, and its labels.
type running struct {
	*pipeline.Stage
	*labels.Topic
}

// Status implements stage.
func (r running) Status() pipeline.Summary { return r.Metrics().Status() }

const (
	shownEvery  = 500 * time.Millisecond // an eye follows no more
	speedWithin = 5 * time.Second        // over which answers a second are measured
)

// Scene is a camera of the demo, and what happens to it.
type Scene struct {
	Camera string `json:"camera"`
	About  string `json:"about"`
}

// Page serves the live page. It is an observer of the stage.
type Page struct {
	options   Options
	stage     stage
	offered   chan *episode // the next one to show
	clients   clients
	crowd     crowd
	asked     allowance // of questions
	pace      allowance // of first answers
	streams   streams
	where     whereabouts
	strangers cached[[]groupView]
	named     namedGroups
	likes     likes
	others    cached[[]string] // processes
	linked    cached[*identities]
	questions *questions

	marking    sync.Mutex
	classOrder []string  // the classes in the order in which they were first taught; guarded by marking
	ordered    time.Time // when it was found

	mu        sync.Mutex
	next      time.Time // when another episode may be offered
	latest    *episode
	speed     telemetry.Rate
	board     demo.Board        // of the demo
	curves    map[string]*curve // of the demo's cameras
	shown     shown
	position  placement
	takenBack []record.Example // on this page, the latest last: so that it can be undone

	rejecting  sync.Mutex       // held while a rejection is made and written
	rejections []record.NotThis // that the page has written and the stage may not have read; guarded by mu

	naming sync.Mutex    // held while a name is checked and written
	said   []record.Name // names that the page has written and the stage may not have read; Into "": taken back

	forgetting forgetting // of Run
}

// New returns a page. It needs a stage to follow before it is served.
func New(o Options) *Page {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Page{
		options: o, offered: make(chan *episode, 1), questions: newQuestions(), crowd: newCrowd(o.UserHeader),
		asked:   allowance{each: askedEach, burst: askedBurst},
		pace:    allowance{each: firstEach, burst: firstBurst},
		streams: streams{now: time.Now, by: map[string]*streamCounts{}},
		speed:   telemetry.Rate{Within: speedWithin},
		shown:   shown{items: map[string]*item{}},
		curves:  map[string]*curve{},
		named:   namedGroups{hidden: map[string]bool{}},
	}
}

// Follow has the page show a stage.
func (p *Page) Follow(s *pipeline.Stage) { p.stage = running{s, s.Labels()} }

// Answered implements answering.Observer. Of an episode that comes soon after another, only counts and
// questions are kept.
func (p *Page) Answered(a *answering.Observed) {
	p.told(a.Results, a.Reviews, a.Report.Doubtful)
	p.streams.compared(a.Results, a.Report.Unlike)
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(shownEvery)
	p.offer(episodeOf(a))
}

// told counts the answers of an episode, queues the items whose label the stage asks for, and settles items
// that were shown with a first answer.
func (p *Page) told(results []record.Result, reviews []record.Review, doubtful bool) {
	p.streams.add(results, doubtful)
	p.where.add(results)
	p.questions.Ask(reviews...)
	p.questions.Named(results)
	p.settle(results)
}

// offer has Run show an episode, unless another one waits.
func (p *Page) offer(e *episode) {
	select {
	case p.offered <- e:
	default:
	}
}

// Score shows how often the stage and the nearest example were right so far.
func (p *Page) Score(board demo.Board) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.board = board
	for camera, pair := range board.Cameras {
		if p.curves[camera] == nil {
			p.curves[camera] = &curve{}
		}
		p.curves[camera].add(pair)
	}
	p.clients.send(message("score", p.scoreView()))
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
			p.mu.Lock()
			p.latest = e
			p.mu.Unlock()
			if p.clients.any() {
				p.clients.send(p.show())
			}
		case now := <-second.C:
			p.forgetElsewhere(now)
			if p.clients.any() {
				p.clients.send(message("status", p.status(now)))
			}
		}
	}
}

// show returns the message of the latest episode, whose items can be taught from then on; nil if there is
// none.
func (p *Page) show() []byte {
	p.mu.Lock()
	e := p.latest
	p.mu.Unlock()
	if e == nil {
		return nil
	}
	points := project(e.items) // long work
	p.mu.Lock()
	p.position.align(points, e.items)
	for i := range e.items {
		p.shown.add(&e.items[i])
	}
	view := p.view(e, points)
	p.mu.Unlock()
	return message("episode", view)
}

// status asks the stage how it is.
func (p *Page) status(now time.Time) statusView {
	status := p.stage.Status()
	p.mu.Lock()
	defer p.mu.Unlock()
	return statusView{status, p.speed.Add(now, status.Answered)}
}

// welcome returns the messages for a new visitor.
func (p *Page) welcome() [][]byte {
	hello := helloView{Demo: p.options.Demo}
	p.mu.Lock()
	if hello.Demo != nil {
		hello.Score = p.scoreView()
	}
	first := message("hello", hello)
	p.mu.Unlock()
	return [][]byte{first, message("status", p.status(time.Now())), p.show()}
}

// message is a server-sent event.
func message(name string, value any) []byte {
	b, err := json.Marshal(value)
	if err != nil { // an attribute that is not JSON cannot come this far
		b, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	out := append([]byte("event: "+name+"\ndata: "), b...)
	return append(out, "\n\n"...)
}
