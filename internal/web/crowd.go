package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// crowd bounds what all requests of the API take together, however many visitors there are and however slowly
// they send and read.
type crowd struct {
	large   chan struct{} // one for each request with a large body or answer
	looking chan struct{} // one for each request that is being served and changes nothing
}

const (
	mostLarge   = 8
	mostLooking = 8
	small       = 64 << 10 // bytes of a body, or of an answer, of which any number is taken
)

func newCrowd() crowd {
	return crowd{large: make(chan struct{}, mostLarge), looking: make(chan struct{}, mostLooking)}
}

// admit reads a request's body, has it served, and then writes the answer. A visitor who sends or reads slowly
// holds up other large requests at most, which are refused meanwhile.
func (c *crowd) admit(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		held := false
		enter := func() bool {
			if !held {
				select {
				case c.large <- struct{}{}:
					held = true
				default:
				}
			}
			return held
		}
		defer func() {
			if held {
				<-c.large
			}
		}()
		body, err := bodyOf(w, r, enter)
		if err != nil {
			answer(w, nil, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		reply := &reply{header: w.Header(), status: http.StatusOK}
		if r.Method == http.MethodPost { // it may wait for brokers, and holds up nobody
			serve(reply, r)
		} else if !c.serveInTurn(func() { serve(reply, r) }, r) {
			return
		}
		if reply.body.Len() > small && !enter() {
			answer(w, nil, errCrowded)
			return
		}
		w.WriteHeader(reply.status)
		_, _ = w.Write(reply.body.Bytes())
	}
}

// serveInTurn serves a request in its turn; false: the visitor has gone.
func (c *crowd) serveInTurn(serve func(), r *http.Request) bool {
	select {
	case c.looking <- struct{}{}:
	case <-r.Context().Done():
		return false
	}
	defer func() { <-c.looking }()
	serve()
	return true
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

// reply holds an answer until it is written.
type reply struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *reply) Header() http.Header         { return r.header }
func (r *reply) WriteHeader(status int)      { r.status = status }
func (r *reply) Write(b []byte) (int, error) { return r.body.Write(b) }
