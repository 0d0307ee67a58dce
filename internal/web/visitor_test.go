package web

import (
	"bufio"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/answering"
)

// An episode that nobody looks at costs no more than its copy; the first visitor begins with it.
func TestNobodyLooksOn(t *testing.T) {
	s := newSimulation(t)
	p := s.page()
	e := s.episode(t, 40)
	p.latest = e
	if len(p.shown.items) != 0 {
		t.Errorf("shown to nobody: %d items", len(p.shown.items))
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
	if len(p.shown.items) != 40 {
		t.Errorf("%d items can be taught", len(p.shown.items))
	}
	response.Body.Close()
}

// Of episodes that come close upon each other, one is shown; each is counted.
func TestEpisodesAreShownAtAnEyesPace(t *testing.T) {
	p := newSimulation(t).page()
	a := &answering.Observed{
		Episode: &consumer.Episode{Items: []record.Item{{ItemID: "a", Vector: []float32{1}}}},
		Results: []record.Result{{ID: "a", Label: "hat", Stream: "belt"}},
	}
	p.Answered(a)
	e := <-p.offered
	p.Answered(a)
	if len(p.offered) != 0 || len(e.items) != 1 || p.questions.counts["hat"] != 2 {
		t.Errorf("%d wait, %+v, %v", len(p.offered), e, p.questions.counts)
	}
	p.next = time.Time{}
	if p.Answered(a); len(p.offered) != 1 {
		t.Error("the next one is not shown")
	}
}
