package telemetry

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// scrape returns the reply to a scraper that accepts this type.
func scrape(t *testing.T, s *Set, accept string) string {
	t.Helper()
	request := httptest.NewRequest("GET", "/metrics", nil)
	request.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	if answer.Code != 200 {
		t.Fatalf("a scrape is answered with %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

const (
	plain       = "text/plain"
	openMetrics = "application/openmetrics-text; version=1.0.0"
	traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

func TestText(t *testing.T) {
	s := NewSet()
	c := s.Counter("things_total", "things", "kind")
	c.Add(2, `a"b`)
	c.Add(1, `a"b`)
	s.Gauge("level", "how high").Set(-1.5)
	s.Counter("never_total", "")
	h := s.Histogram("seconds", "how long", []float64{1, 2})
	h.Observe(1)
	h.Observe(5)
	text := scrape(t, s, plain)
	for _, want := range []string{
		"# HELP things_total things\n# TYPE things_total counter\nthings_total{kind=\"a\\\"b\"} 3\n",
		"level -1.5\n", "never_total 0\n",
		"seconds_bucket{le=\"1\"} 1\nseconds_bucket{le=\"2\"} 1\nseconds_bucket{le=\"+Inf\"} 2\nseconds_sum 6\nseconds_count 2\n",
		"go_goroutines ", "process_start_time_seconds ", "slkstream_build_info{goversion=",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestOpenMetricsCarriesExemplars(t *testing.T) {
	s := NewSet()
	h := s.Histogram("seconds", "", []float64{1, 2})
	h.ObserveTraced(.5, traceparent)
	h.ObserveTraced(1.5, "not a trace")
	text := scrape(t, s, openMetrics)
	if !strings.Contains(text, `seconds_bucket{le="1.0"} 1 # {`) ||
		!strings.Contains(text, `trace_id="0af7651916cd43dd8448eb211c80319c"`) {
		t.Errorf("no exemplar in\n%s", text)
	}
	if !strings.Contains(text, "seconds_bucket{le=\"2.0\"} 2\n") || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("not OpenMetrics:\n%s", text)
	}
}

func TestSums(t *testing.T) {
	s := NewSet()
	c := s.Counter("things_total", "", "kind")
	c.Add(2, "a")
	c.Of("b").Add(3)
	g := s.Gauge("level", "", "of")
	g.Set(-4, "a")
	g.Set(1, "b")
	if c.Value("a") != 2 || c.Value("none") != 0 || c.Sum() != 5 || g.Sum() != -3 || g.Max() != 1 {
		t.Errorf("%v %v %v %v %v", c.Value("a"), c.Value("none"), c.Sum(), g.Sum(), g.Max())
	}
}

func TestDrop(t *testing.T) {
	s := NewSet()
	g := s.Gauge("level", "", "of")
	g.Set(1, "a")
	g.Drop("a")
	if text := scrape(t, s, plain); strings.Contains(text, "level{") {
		t.Error(text)
	}
}

func TestRate(t *testing.T) {
	r := Rate{Within: 5 * time.Second}
	now := time.Unix(1000, 0)
	var got float64
	for i := range 10 {
		got = r.Add(now.Add(time.Duration(i)*time.Second), int64(i)*50)
	}
	if got < 49.9 || got > 50.1 || len(r.at) > 7 {
		t.Errorf("%g a second, %d counts are kept", got, len(r.at))
	}
	if got := r.Add(now.Add(20*time.Second), 3); got != 0 {
		t.Errorf("after a new beginning: %g", got)
	}
}
