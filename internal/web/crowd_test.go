package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Visitors whose large requests do not come to an end hold up other large requests only.
func TestSlowLargeRequestsAreBounded(t *testing.T) {
	page := New(Options{UserHeader: "User"})
	server := httptest.NewServer(page.Handler())
	defer server.Close()
	large := strings.Repeat(" ", small+1)
	var slow sync.WaitGroup
	var ends []*io.PipeWriter
	for i := range mostLarge {
		body, end := io.Pipe()
		ends = append(ends, end)
		slow.Go(func() {
			r, err := http.NewRequest(http.MethodPost, server.URL+"/api/similar", body)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("User", fmt.Sprint(i/mostLargeOfOne))
			answer, err := server.Client().Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			answer.Body.Close()
		})
		if _, err := io.WriteString(end, large); err != nil {
			t.Fatal(err)
		}
	}
	held := func(n int) {
		t.Helper()
		for begin := time.Now(); len(page.crowd.large) != n; time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("%d large requests, not %d", len(page.crowd.large), n)
			}
		}
	}
	held(mostLarge)
	if status, text := post(t, server, "/api/similar", large); status != http.StatusServiceUnavailable {
		t.Errorf("one more: %d %s", status, text)
	}
	if status, text := post(t, server, "/api/similar", "{}"); status == http.StatusServiceUnavailable {
		t.Errorf("a small one: %d %s", status, text)
	}
	for _, end := range ends {
		end.Close()
	}
	slow.Wait()
	held(0)
	if status, text := post(t, server, "/api/similar", large); status != http.StatusBadRequest {
		t.Errorf("once they have ended: %d %s", status, text)
	}
	huge := strings.Repeat(" ", longestBody+1)
	if status, text := post(t, server, "/api/similar", huge); status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d bytes: %d %s", len(huge), status, text)
	}
}

// However many look on, few requests are served at once, and a visitor who does not read a large answer holds
// up large answers only.
func TestLookingOnTakesTurns(t *testing.T) {
	c := newCrowd("")
	open, inside := make(chan struct{}), make(chan struct{}, 100)
	handler := c.admit(func(*http.Request) (any, error) {
		inside <- struct{}{}
		<-open
		return nil, nil
	})
	var visitors sync.WaitGroup
	for i := range 3 * mostLooking {
		visitors.Go(func() {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i)
			handler(httptest.NewRecorder(), r)
		})
	}
	for range mostLooking {
		<-inside
	}
	if len(inside) > 0 {
		t.Errorf("%d more are served at once", len(inside))
	}
	close(open)
	visitors.Wait()

	for range mostLarge {
		c.large <- struct{}{}
	}
	for bytes, want := range map[int]int{small: http.StatusOK, small + 1: http.StatusServiceUnavailable} {
		answer := httptest.NewRecorder()
		c.admit(func(*http.Request) (any, error) {
			return strings.Repeat("x", bytes-2), nil // and its quotes
		})(answer, httptest.NewRequest(http.MethodGet, "/", nil))
		if answer.Code != want {
			t.Errorf("an answer of %d bytes: %d, not %d", bytes, answer.Code, want)
		}
	}
}

// A visitor with more requests than can be served at a time does not hold up another, who has another token.
func TestOneVisitorDoesNotHoldUpOthers(t *testing.T) {
	crowd := newCrowd("")
	end := make(chan struct{})
	handler := crowd.admit(func(r *http.Request) (any, error) {
		if tokenOf(r) == "many" {
			<-end
		}
		return nil, nil
	})
	ask := func(token, method string) {
		r := httptest.NewRequest(method, "/api/streams", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r = r.WithContext(context.WithValue(r.Context(), reading{}, true))
		handler(httptest.NewRecorder(), r)
	}
	var flood sync.WaitGroup
	for i := range 10 * mostLooking {
		flood.Go(func() { ask("many", []string{http.MethodGet, http.MethodPost}[i%2]) })
	}
	waiting := func() (n int) {
		crowd.shares.mu.Lock()
		defer crowd.shares.mu.Unlock()
		for _, s := range crowd.shares.of {
			n += s.requests
		}
		return n
	}
	for begin := time.Now(); waiting() < 10*mostLooking; time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%d requests wait", waiting())
		}
	}
	served := make(chan struct{})
	go func() {
		ask("one", http.MethodGet)
		close(served)
	}()
	select {
	case <-served:
	case <-time.After(time.Minute):
		t.Error("another visitor waits")
	}
	close(end)
	flood.Wait()
	if n := waiting(); n > 0 {
		t.Errorf("%d requests are still counted", n)
	}
}

// Of visitors behind one proxy, whom its header tells apart, one with many large requests leaves places to others.
func TestOneVisitorsLargeRequestsLeaveRoom(t *testing.T) {
	c := newCrowd("User")
	visitor := func(user string) string {
		r := httptest.NewRequest(http.MethodPost, "/api/similar", nil)
		r.Header.Set("User", user)
		return c.visitorOf(r)
	}
	var leave []func()
	for range mostLarge {
		if l := c.enterLarge(visitor("one")); l != nil {
			leave = append(leave, l)
		}
	}
	if len(leave) != mostLargeOfOne {
		t.Errorf("one visitor holds %d places", len(leave))
	}
	other := c.enterLarge(visitor("other"))
	if other == nil {
		t.Fatal("another visitor is refused")
	}
	for _, l := range append(leave, other) {
		l()
	}
	if len(c.large) != 0 || len(c.shares.of) != 0 {
		t.Errorf("%d places and %d visitors are kept", len(c.large), len(c.shares.of))
	}
}
