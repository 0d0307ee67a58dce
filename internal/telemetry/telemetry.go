// Package telemetry counts, and writes what it counted in the text format that Prometheus reads. It is small because the
// format is: counters, gauges and histograms with a few labels, nothing else.
package telemetry

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Set is a set of metrics that are shown together.
type Set struct {
	mutex    sync.Mutex
	families []*family
}

// family is one metric with all values of its labels.
type family struct {
	name, help, kind string
	labels           []string
	bounds           []float64 // of a histogram
	mutex            sync.RWMutex
	series           map[string]*series
}

// series is one metric at one value of its labels.
type series struct {
	labels  []string
	bits    atomic.Uint64   // of a float64
	buckets []atomic.Uint64 // of a histogram, the last without a bound
	count   atomic.Uint64
}

func (s *Set) add(f *family) *family {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	f.series = map[string]*series{}
	s.families = append(s.families, f)
	if len(f.labels) == 0 {
		f.of(nil)
	}
	return f
}

func (f *family) of(values []string) *series {
	if len(values) != len(f.labels) {
		panic(fmt.Sprintf("metric %s: %d label values, not %d", f.name, len(values), len(f.labels)))
	}
	key := strings.Join(values, "\xff")
	f.mutex.RLock()
	s := f.series[key]
	f.mutex.RUnlock()
	if s != nil {
		return s
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if s = f.series[key]; s == nil {
		s = &series{labels: slices.Clone(values), buckets: make([]atomic.Uint64, len(f.bounds)+1)}
		f.series[key] = s
	}
	return s
}

// fold gathers the values of all series, beginning with 0.
func (f *family) fold(with func(a, b float64) float64) float64 {
	f.mutex.RLock()
	defer f.mutex.RUnlock()
	all := 0.
	for _, s := range f.series {
		all = with(all, math.Float64frombits(s.bits.Load()))
	}
	return all
}

func (s *series) add(v float64) {
	for {
		old := s.bits.Load()
		if s.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Counter only grows.
type Counter struct{ f *family }

// Counter adds a counter, whose name ends in _total.
func (s *Set) Counter(name, help string, labels ...string) Counter {
	return Counter{s.add(&family{name: name, help: help, kind: "counter", labels: labels})}
}

// Add counts n more at the given values of the labels.
func (c Counter) Add(n float64, values ...string) { c.f.of(values).add(n) }

// Value is the count at the given values of the labels.
func (c Counter) Value(values ...string) float64 {
	return math.Float64frombits(c.f.of(values).bits.Load())
}

// Sum is the count over all values of the labels.
func (c Counter) Sum() float64 { return c.f.fold(func(a, b float64) float64 { return a + b }) }

// Gauge goes up and down.
type Gauge struct{ f *family }

// Gauge adds a gauge.
func (s *Set) Gauge(name, help string, labels ...string) Gauge {
	return Gauge{s.add(&family{name: name, help: help, kind: "gauge", labels: labels})}
}

// Set sets the gauge at the given values of the labels.
func (g Gauge) Set(v float64, values ...string) { g.f.of(values).bits.Store(math.Float64bits(v)) }

// Sum is the gauge added up over all values of the labels.
func (g Gauge) Sum() float64 { return g.f.fold(func(a, b float64) float64 { return a + b }) }

// Max is the largest gauge of all values of the labels, and not below 0.
func (g Gauge) Max() float64 { return g.f.fold(func(a, b float64) float64 { return max(a, b) }) }

// Drop forgets the gauge at the given values of the labels.
func (g Gauge) Drop(values ...string) {
	g.f.mutex.Lock()
	defer g.f.mutex.Unlock()
	delete(g.f.series, strings.Join(values, "\xff"))
}

// Histogram counts values by size.
type Histogram struct{ f *family }

// Histogram adds a histogram with these upper bounds, ascending.
func (s *Set) Histogram(name, help string, bounds []float64, labels ...string) Histogram {
	return Histogram{s.add(&family{name: name, help: help, kind: "histogram", labels: labels, bounds: bounds})}
}

// Observe counts a value.
func (h Histogram) Observe(v float64, values ...string) { h.ObserveMany(v, 1, values...) }

// ObserveMany counts a value n times.
func (h Histogram) ObserveMany(v float64, n uint64, values ...string) {
	s := h.f.of(values)
	i, _ := slices.BinarySearch(h.f.bounds, v)
	s.buckets[i].Add(n)
	s.count.Add(n)
	s.add(v * float64(n))
}

// WriteTo writes the metrics as text.
func (s *Set) WriteTo(w io.Writer) (int64, error) {
	counted := &countingWriter{w: w}
	b := bufio.NewWriter(counted)
	s.mutex.Lock()
	families := slices.Clone(s.families)
	s.mutex.Unlock()
	for _, f := range families {
		f.write(b)
	}
	err := b.Flush()
	return counted.n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (f *family) write(b *bufio.Writer) {
	f.mutex.RLock()
	defer f.mutex.RUnlock()
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
	for _, key := range slices.Sorted(maps.Keys(f.series)) {
		s := f.series[key]
		value := math.Float64frombits(s.bits.Load())
		if f.kind != "histogram" {
			fmt.Fprintf(b, "%s%s %s\n", f.name, f.tags(s, ""), number(value))
			continue
		}
		var sum uint64
		for i := range s.buckets {
			bound := "+Inf"
			if i < len(f.bounds) {
				bound = number(f.bounds[i])
			}
			sum += s.buckets[i].Load()
			fmt.Fprintf(b, "%s_bucket%s %d\n", f.name, f.tags(s, bound), sum)
		}
		fmt.Fprintf(b, "%s_sum%s %s\n%s_count%s %d\n", f.name, f.tags(s, ""), number(value), f.name, f.tags(s, ""), sum)
	}
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// tags are the labels in braces; bound is a bucket's.
func (f *family) tags(s *series, bound string) string {
	var parts []string
	for i, name := range f.labels {
		parts = append(parts, name+`="`+escape.Replace(s.labels[i])+`"`)
	}
	if bound != "" {
		parts = append(parts, `le="`+bound+`"`)
	}
	if len(parts) == 0 {
		return ""
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// ServeHTTP answers a scrape.
func (s *Set) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = s.WriteTo(w) // a scraper that has gone away is told nothing
}
