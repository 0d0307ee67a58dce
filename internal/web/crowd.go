package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// crowd bounds what all requests of the API take together, however many visitors there are and however slowly
// they send and read.
type crowd struct {
	large   chan struct{} // one for each request with a large body or reply
	looking chan struct{} // one for each request that is being served and changes nothing
	shares  shares
	user    string // Options.UserHeader: visitors behind one proxy have shares of their own by it
}

const (
	mostLarge      = 8
	mostLooking    = 8
	mostOfOne      = 2        // of one visitor
	mostLargeOfOne = 4        // of one visitor
	small          = 64 << 10 // bytes of a body, or of a reply, of which any number is taken
)

func newCrowd(user string) crowd {
	return crowd{
		large: make(chan struct{}, mostLarge), looking: make(chan struct{}, mostLooking), shares: shares{of: map[string]*share{}},
		user: user,
	}
}

// admit reads a request's body, has it served, and then sends the reply. A visitor who sends or reads slowly
// holds up other large requests at most, which are refused meanwhile.
func (c *crowd) admit(serve handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var leave func() // nil: the request is small
		enter := func() bool {
			if leave == nil {
				leave = c.enterLarge(c.visitorOf(r))
			}
			return leave != nil
		}
		defer func() {
			if leave != nil {
				leave()
			}
		}()
		var reply []byte
		body, err := bodyOf(w, r, enter)
		if err == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			reply, err = c.reply(serve, r)
		}
		if len(reply) > small && !enter() {
			err = errCrowded
		}
		send(w, reply, err)
	}
}

// shares bound how many requests of one visitor are served at a time: of one who sends many the others wait in line
// for each other, not before those of other visitors.
type shares struct {
	mu sync.Mutex
	of map[string]*share // by visitor, while one of its requests is served or waits
}

type share struct {
	turns    chan struct{}
	large    chan struct{}
	requests int // served or waiting
}

// visit returns a visitor's share, and what gives it back.
func (s *shares) visit(visitor string) (own *share, gone func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own = s.of[visitor]
	if own == nil {
		own = &share{turns: make(chan struct{}, mostOfOne), large: make(chan struct{}, mostLargeOfOne)}
		s.of[visitor] = own
	}
	own.requests++
	return own, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if own.requests--; own.requests == 0 {
			delete(s.of, visitor)
		}
	}
}

// enterLarge takes a place for a large request and returns what gives it back; nil: all are taken, or the visitor has
// its share of them.
func (c *crowd) enterLarge(visitor string) (leave func()) {
	own, gone := c.shares.visit(visitor)
	select {
	case own.large <- struct{}{}:
	default:
		gone()
		return nil
	}
	select {
	case c.large <- struct{}{}:
		return func() { <-c.large; <-own.large; gone() }
	default:
		<-own.large
		gone()
		return nil
	}
}

// enter waits for a visitor's turn and returns what ends it.
func (s *shares) enter(ctx context.Context, visitor string) (leave func(), err error) {
	own, gone := s.visit(visitor)
	select {
	case own.turns <- struct{}{}:
		return func() { <-own.turns; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}

// visitorOf names who sent a request: by address, token and the name that a proxy gives.
func (c *crowd) visitorOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	name := host + " " + tokenOf(r)
	if c.user != "" {
		name += " " + r.Header.Get(c.user)
	}
	return name
}

// reply serves a request that changes nothing in its turn, others at once.
func (c *crowd) reply(serve handler, r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost || readsOnly(r) {
		leave, err := c.shares.enter(r.Context(), c.visitorOf(r))
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	if r.Method != http.MethodPost { // those wait for brokers, and hold up nobody
		select {
		case c.looking <- struct{}{}:
			defer func() { <-c.looking }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	value, err := serve(r)
	if err != nil || value == nil {
		return nil, err
	}
	return json.Marshal(value)
}

var errCrowded = refuse(http.StatusServiceUnavailable, "too many large requests at once: try again")

// bodyOf reads a body. enter is asked before it takes more than a small one.
func bodyOf(w http.ResponseWriter, r *http.Request, enter func() bool) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, small))
	if err == nil && len(body) == small {
		if !enter() {
			return nil, errCrowded
		}
		var rest []byte
		rest, err = io.ReadAll(http.MaxBytesReader(w, r.Body, int64(longestBody-small)))
		body = append(body, rest...)
	}
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "more than %d bytes", longestBody)
	} else if err != nil {
		return nil, wrong("the body does not come: %v", err)
	}
	return body, nil
}
