package web

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/solver/stream"
)

// A vector is answered in the reply, and a faulty request gets an error that names the fault.
func TestAnswerQuestions(t *testing.T) {
	var entered []string
	o := fakeStage{enter: func(stream string, vectors [][]float32) error {
		if entered = append(entered, fmt.Sprint(stream, len(vectors))); len(vectors) == 3 {
			return errors.New("the broker is away")
		}
		return nil
	}, owner: func(stream string) (string, error) {
		if stream == "nobody's" {
			return "", errors.New("the group is not known")
		}
		return "http://b:8070/", nil
	}, ask: func(name, model string, vectors [][]float32) ([]stream.Answer, error) {
		switch {
		case name != "door":
			return nil, fmt.Errorf("%q: %w", name, first.ErrNoStream)
		case model == "one too many":
			return nil, fmt.Errorf("%w, too many streams", first.ErrBusy)
		case model == "old":
			return nil, errors.New("dimension 2, not the stream's 3")
		}
		answers := make([]stream.Answer, len(vectors))
		for i := range answers {
			answers[i] = stream.Answer{Label: fmt.Sprint("anna-", len(vectors[i])), Confidence: .5}
			answers[i].Alternatives = []stream.Alternative{{Label: "kim", Confidence: .25}}
		}
		return answers, nil
	}}
	server := serving(t, pageOf(Options{}, o), Access{Loopback: true})
	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"?stream=door", `{"vector":[1,2]}`, http.StatusOK, `"anna-2"`},
		{"?stream=door", `{"vector":"AACAPwAAAEAAAEBA"}`, http.StatusOK, `"anna-3"`},
		{"?stream=door", `{"vectors":[[1,2],[3,4,5]]}`, http.StatusOK, `"anna-3"`},
		{"?stream=door", `{"vector":[1,2]}`, http.StatusOK, `{"label":"kim","confidence":0.25}`},
		{"?stream=yard", `{"vector":[1,2]}`, http.StatusNotFound, "stream: ask http://b:8070/"},
		{"?stream=yard&learn", `{"vector":[1,2]}`, http.StatusNotFound, "does not remember"},
		{"?stream=nobody%27s", `{"vector":[1,2]}`, http.StatusNotFound, "does not remember the stream\n"},
		{"?stream=door&learn", `{"vector":[1,2]}`, http.StatusOK, `"anna-2"`},
		{"?stream=door&learn=false", `{"vectors":[[1],[2],[3]]}`, http.StatusOK, `"anna-1"`},
		{"?stream=door&lern", `{"vector":[1,2]}`, http.StatusBadRequest, `"lern": /api/answer takes stream`},
		{"?stream=door&learn=maybe", `{"vector":[1,2]}`, http.StatusBadRequest, "learn=true or learn=false"},
		{"?stream=door&learn", `{"vectors":[[1],[2],[3]]}`, http.StatusBadGateway, "the log says why"},
		{"?stream=door", `{"vector":[1,2],"model":"old"}`, http.StatusBadRequest, "dimension"},
		{"?stream=door", `{"vector":[1,2],"model":"one too many"}`, http.StatusServiceUnavailable, "too many"},
		{"", `{"vector":[1,2]}`, http.StatusBadRequest, "stream"},
		{"?stream=door", `{}`, http.StatusBadRequest, "vector"},
		{"?stream=door", `{"vectors":[]}`, http.StatusBadRequest, "vector"},
		{"?stream=door", `{"vector":[1],"vectors":[[1]]}`, http.StatusBadRequest, "vector"},
		{
			"?stream=door", `{"vectors":[` + strings.Repeat("[1],", mostAsked) + `[1]]}`,
			http.StatusBadRequest, "256",
		},
		{"?stream=door", `{"vector":[0,0]}`, http.StatusBadRequest, "vector"},
		{"?stream=door", `{"vector":"x"}`, http.StatusBadRequest, "vector"},
		{"?stream=door", `{"vector":[1`, http.StatusBadRequest, "JSON"},
	} {
		code, text := post(t, server, "/api/answer"+c.path, c.body)
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %.60s: %d %s", c.path, c.body, code, text)
		}
	}
	request, err := http.NewRequest(http.MethodPost, server.URL+"/api/answer?stream=yard&learn",
		strings.NewReader(`{"vector":[1,2]}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	elsewhere, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere.Body.Close()
	if to := elsewhere.Header.Get("Location"); elsewhere.StatusCode != http.StatusNotFound ||
		to != "http://b:8070/api/answer?stream=yard&learn" {
		t.Errorf("%s, to %q", elsewhere.Status, to)
	}
	if fmt.Sprint(entered) != "[door1 door3]" {
		t.Errorf("entered: %v", entered)
	}
}

// The allowance permits a burst of requests, and then a fixed number a second.
func TestAllowance(t *testing.T) {
	a := allowance{each: askedEach, burst: askedBurst}
	now := time.Unix(1000, 0)
	count := func() (n int) {
		for a.take(now) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{
		{0, askedBurst}, {0, 0}, {100 * time.Millisecond, askedEach / 10}, {time.Hour, askedBurst}, {-time.Hour, 0},
	} {
		now = now.Add(c.after)
		if n := count(); n != c.want {
			t.Errorf("after %v: %d, not %d", c.after, n, c.want)
		}
	}
}
