package web

import (
	"bufio"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A page without visitors wants no episodes and computes nothing; the first visitor begins
// with the latest episode.
func TestNobodyLooksOn(t *testing.T) {
	s := newSimulation(t)
	p := s.page()
	if p.Wants() {
		t.Error("it wants an episode with nobody there")
	}
	e := s.episode(t, 40)
	p.keep(e)
	if p.last != nil || p.unseen != e || len(p.curve.points) != 1 || len(p.shown.items) != 0 {
		t.Errorf("shown to nobody: %d bytes, %d points, %d items", len(p.last), len(p.curve.points),
			len(p.shown.items))
	}
	server := httptest.NewServer(p.Handler())
	defer server.Close()
	response, err := server.Client().Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(response.Body)
	for {
		name, _, err := readEvent(func() (string, error) {
			line, err := lines.ReadString('\n')
			return strings.TrimSuffix(line, "\n"), err
		})
		if err != nil {
			t.Fatal(err)
		}
		if name == "episode" {
			break
		}
	}
	if !p.Wants() || p.unseen != nil || len(p.shown.items) != 40 {
		t.Errorf("with a visitor: wants %t, %d items can be taught", p.Wants(), len(p.shown.items))
	}
	response.Body.Close()
	for deadline := time.Now().Add(time.Minute); p.Wants() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
		p.clients.send([]byte(": is anybody there\n\n"))
	}
	if p.Wants() {
		t.Error("it still wants episodes after the last visitor left")
	}
}
