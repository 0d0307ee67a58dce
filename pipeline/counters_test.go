package pipeline

import (
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/pipeline/health"
)

// Every counter is served from the start: a rate or an increase misses the first event of a series that
// begins with it.
func TestCountersStartAtZero(t *testing.T) {
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewRecorder()
	newMetrics(new(health.Watch)).set.ServeHTTP(served, httptest.NewRequest("GET", "/metrics", nil))
	for _, alerting := range []string{
		`commits_total{outcome="failed"} 0`, `first_answers_total{outcome="refused"} 0`,
	} {
		if !strings.Contains(served.Body.String(), alerting) {
			t.Errorf("%s is not served", alerting)
		}
	}
	counters := regexp.MustCompile(`s\.Counter\(\s*"(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(counters) < 15 {
		t.Fatalf("%d counters in the source", len(counters))
	}
	for _, c := range counters {
		if !strings.Contains(served.Body.String(), "\n"+c[1]) {
			t.Errorf("%s is not served before its first event", c[1])
		}
	}
}
