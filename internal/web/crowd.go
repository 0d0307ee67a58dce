package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// crowd bounds what all requests of the API take together, however many visitors there are and however slowly
// they send and read.
type crowd struct {
	large   chan struct{} // one for each request with a large body or reply
	looking chan struct{} // one for each request that is being served and changes nothing
}

const (
	mostLarge   = 8
	mostLooking = 8
	small       = 64 << 10 // bytes of a body, or of a reply, of which any number is taken
)

func newCrowd() crowd {
	return crowd{large: make(chan struct{}, mostLarge), looking: make(chan struct{}, mostLooking)}
}

// admit reads a request's body, has it served, and then sends the reply. A visitor who sends or reads slowly
// holds up other large requests at most, which are refused meanwhile.
func (c *crowd) admit(serve handler) http.HandlerFunc {
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

// reply serves a request that changes nothing in its turn, others at once.
func (c *crowd) reply(serve handler, r *http.Request) ([]byte, error) {
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
