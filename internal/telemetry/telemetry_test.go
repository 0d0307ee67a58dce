package telemetry

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	var s Set
	c := s.Counter("things_total", "things", "kind")
	c.Add(2, `a"b`)
	c.Add(1, `a"b`)
	g := s.Gauge("level", "how high")
	g.Set(-1.5)
	h := s.Histogram("seconds", "how long", []float64{1, 2})
	h.Observe(1)
	h.ObserveMany(5, 2)
	var b strings.Builder
	n, err := s.WriteTo(&b)
	if err != nil || int(n) != b.Len() {
		t.Errorf("%d bytes of %d, %v", n, b.Len(), err)
	}
	want := `# HELP things_total things
# TYPE things_total counter
things_total{kind="a\"b"} 3
# HELP level how high
# TYPE level gauge
level -1.5
# HELP seconds how long
# TYPE seconds histogram
seconds_bucket{le="1"} 1
seconds_bucket{le="2"} 1
seconds_bucket{le="+Inf"} 3
seconds_sum 11
seconds_count 3
`
	if b.String() != want {
		t.Errorf("%s\nnot\n%s", b.String(), want)
	}
}

func TestDrop(t *testing.T) {
	var s Set
	g := s.Gauge("level", "", "of")
	g.Set(1, "a")
	g.Drop("a")
	var b strings.Builder
	if _, err := s.WriteTo(&b); err != nil || strings.Contains(b.String(), "level{") {
		t.Errorf("%s %v", b.String(), err)
	}
}
