package web

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline"
)

// Each stream is counted over the last hour and no longer, and the reasons of dead letters are shown.
func TestStreams(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	dead := pipeline.Summary{Reasons: map[string]int64{"size": 3}}
	p := pageOf(Options{}, fakeStage{status: func() pipeline.Summary { return dead }})
	p.streams.now = func() time.Time { return now }
	answers := func(stream string, n int) (out []record.Result) {
		for i := range n {
			out = append(out, record.Result{
				Stream: stream, Unknown: i == 0, Confidence: .9 - .5*float64(i%2), Time: now.Add(-3 * time.Second),
			})
		}
		return out
	}
	p.told(nil, nil, false)
	p.told(answers("door", 10), nil, true)
	now = now.Add(57 * time.Minute)
	p.told(answers("door", 20), []record.Review{{ID: "a", Stream: "door"}}, false)
	yard := answers("yard", 4)
	p.told(yard, nil, true)
	p.streams.compared(yard, true)
	p.streams.compared(nil, true)
	server := serving(t, p, Access{Loopback: true})
	ask := func() (v struct {
		Streams []streamView
		Minutes []minute
		Dead    map[string]int64
	},
	) {
		if err := json.NewDecoder(get(t, server, "/api/streams").Body).Decode(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := ask()
	if len(v.Streams) != 2 || len(v.Minutes) != minutes || v.Dead["size"] != 3 {
		t.Fatalf("%+v", v)
	}
	door := v.Streams[0]
	if door.Stream != "door" || door.Answered != 30 || door.Unknown != 2 || door.Unsure != 15 || door.PerMinute != 4 ||
		door.Delay != 3 || door.Doubtful || door.Unlike || door.Waiting != 1 || !v.Streams[1].Doubtful || !v.Streams[1].Unlike {
		t.Errorf("%+v", v.Streams)
	}
	if m := v.Minutes[minutes-1]; m.Answered != 24 || m.Unknown != 2 || v.Minutes[2].Answered != 10 {
		t.Errorf("%+v", v.Minutes)
	}
	now = now.Add(5 * time.Minute)
	if door := ask().Streams[0]; door.Answered != 20 || door.PerMinute != 0 {
		t.Errorf("an hour later: %+v", door)
	}
}

// The number of streams is bounded, and those idle longest are evicted.
func TestStreamsAreBounded(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := streams{now: func() time.Time { return now }, by: map[string]*streamCounts{}}
	for i := range 3 * mostStreams {
		now = now.Add(time.Millisecond)
		s.add([]record.Result{{Stream: fmt.Sprint(i)}}, false)
		s.add([]record.Result{{Stream: "busy"}}, false)
		if len(s.by) > mostStreams {
			t.Fatalf("%d streams", len(s.by))
		}
	}
	if s.by["busy"] == nil {
		t.Error("the busy one is gone")
	}
}

// After a restart the page tells the streams that it knows from before from those that it has heard, and from those that another
// process answers.
func TestStreamsAfterARestart(t *testing.T) {
	p := pageOf(Options{}, fakeStage{remembered: []string{"a", "c"}, elsewhere: []string{"http://b:8070"}})
	for _, name := range []string{"a", "b"} {
		p.told([]record.Result{{Stream: name, Label: "x", Time: time.Now()}}, nil, false)
	}
	live := func() (v liveView) {
		reply := httptest.NewRecorder()
		p.Handler().ServeHTTP(reply, httptest.NewRequest("GET", "/page/live", nil))
		if err := json.Unmarshal(reply.Body.Bytes(), &v); err != nil {
			t.Fatalf("%v: %s", err, reply.Body)
		}
		return v
	}
	v := live()
	if len(v.Streams) != 2 || v.Streams[0].Moved || !v.Streams[1].Moved {
		t.Errorf("streams: %+v", v.Streams)
	}
	if !slices.Equal(v.Known, []string{"c"}) || !slices.Equal(v.Elsewhere, []string{"http://b:8070"}) {
		t.Errorf("known from before: %v, elsewhere: %v", v.Known, v.Elsewhere)
	}
	p.stage.(*fakeStage).elsewhere = nil
	p.others.drop()
	if v := live(); v.Streams[1].Moved || len(v.Elsewhere) > 0 {
		t.Errorf("alone: %+v", v)
	}
}
