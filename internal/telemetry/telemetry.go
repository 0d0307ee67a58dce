// Package telemetry exports the metrics of a process to Prometheus, with those of the Go runtime, the
// process and the build.
package telemetry

import (
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Set is a set of metrics that are exported together. Its methods that add a metric panic if the name is
// invalid or taken, as both are programming errors.
type Set struct {
	registry *prometheus.Registry
	handler  http.Handler
}

// NewSet returns a set with the metrics of the Go runtime, the process and the build.
func NewSet() *Set {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	return &Set{registry, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true,
		Registry:          registry,
	})}
}

// buildInfo is a constant 1 whose labels identify the build.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": "unknown", "revision": "unknown", "goversion": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		labels["version"], labels["goversion"] = info.Main.Version, info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				labels["revision"] = s.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "slkstream_build_info", Help: "1; the labels are the version, the source revision and the Go release of the build", ConstLabels: labels,
	}, func() float64 { return 1 })
}

// ServeHTTP answers a scrape, as text or as OpenMetrics, whichever the scraper asks for.
func (s *Set) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Counter is a counter for each combination of label values. Counters only grow.
type Counter struct{ vector *prometheus.CounterVec }

// Counter adds a counter, whose name must end in _total.
func (s *Set) Counter(name, help string, labels ...string) Counter {
	c := Counter{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)}
	s.registry.MustRegister(c.vector)
	if len(labels) == 0 {
		c.Of() // exported as 0 before the first event
	}
	return c
}

// Of returns the counter at the given values of the labels. Keep it if it is used often: the
// lookup hashes the values.
func (c Counter) Of(values ...string) prometheus.Counter { return c.vector.WithLabelValues(values...) }

// Add adds n, at least 0, to the counter at the given values of the labels.
func (c Counter) Add(n float64, values ...string) { c.Of(values...).Add(n) }

// Value is the count at the given values of the labels.
func (c Counter) Value(values ...string) float64 {
	var m dto.Metric
	if c.Of(values...).Write(&m) != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}

// Sum is the count over all values of the labels.
func (c Counter) Sum() float64 {
	sum := 0.
	visit(c.vector, func(m *dto.Metric) { sum += m.GetCounter().GetValue() })
	return sum
}

// Gauge is a gauge for each combination of label values.
type Gauge struct{ vector *prometheus.GaugeVec }

// Gauge adds a gauge.
func (s *Set) Gauge(name, help string, labels ...string) Gauge {
	g := Gauge{prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)}
	s.registry.MustRegister(g.vector)
	if len(labels) == 0 {
		g.Of()
	}
	return g
}

// Of returns the gauge at the given values of the labels. Keep it if it is set often.
func (g Gauge) Of(values ...string) prometheus.Gauge { return g.vector.WithLabelValues(values...) }

// Set sets the gauge at the given values of the labels.
func (g Gauge) Set(v float64, values ...string) { g.Of(values...).Set(v) }

// Sum is the sum of the gauge over all values of the labels.
func (g Gauge) Sum() float64 {
	sum := 0.
	visit(g.vector, func(m *dto.Metric) { sum += m.GetGauge().GetValue() })
	return sum
}

// Max is the largest value of the gauge over all values of the labels, at least 0.
func (g Gauge) Max() float64 {
	highest := 0.
	visit(g.vector, func(m *dto.Metric) { highest = max(highest, m.GetGauge().GetValue()) })
	return highest
}

// Drop deletes the gauge at the given values of the labels. One that was kept from Of is no longer exported.
func (g Gauge) Drop(values ...string) { g.vector.DeleteLabelValues(values...) }

// Histogram is a histogram for each combination of label values.
type Histogram struct{ vector *prometheus.HistogramVec }

// Histogram adds a histogram with these upper bounds, in ascending order.
func (s *Set) Histogram(name, help string, bounds []float64, labels ...string) Histogram {
	h := Histogram{prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds},
		labels)}
	s.registry.MustRegister(h.vector)
	if len(labels) == 0 {
		h.Of()
	}
	return h
}

// Of returns the histogram at the given values of the labels. Keep it if it is used often.
func (h Histogram) Of(values ...string) prometheus.Observer {
	return h.vector.WithLabelValues(values...)
}

// Observe counts a value.
func (h Histogram) Observe(v float64, values ...string) { h.Of(values...).Observe(v) }

// ObserveTraced counts a value and keeps the trace as its bucket's exemplar, for scrapers that read
// OpenMetrics. traceparent is a W3C trace context; without a valid one there is no exemplar.
func (h Histogram) ObserveTraced(v float64, traceparent string, values ...string) {
	o := h.Of(values...)
	parts := strings.Split(traceparent, "-")
	if traced, ok := o.(prometheus.ExemplarObserver); ok && len(parts) >= 4 && len(parts[1]) == 32 &&
		len(parts[2]) == 16 && hexadecimal(parts[1]+parts[2]) {
		traced.ObserveWithExemplar(v, prometheus.Labels{"trace_id": parts[1], "span_id": parts[2]})
		return
	}
	o.Observe(v)
}

func hexadecimal(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// visit calls see with every metric of a collector.
func visit(c prometheus.Collector, see func(*dto.Metric)) {
	metrics := make(chan prometheus.Metric)
	go func() {
		c.Collect(metrics)
		close(metrics)
	}()
	for metric := range metrics {
		var m dto.Metric
		if metric.Write(&m) == nil {
			see(&m)
		}
	}
}
