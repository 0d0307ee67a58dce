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

// Gather implements prometheus.Gatherer, for exports other than scrapes.
func (s *Set) Gather() ([]*dto.MetricFamily, error) { return s.registry.Gather() }

// series are the metrics of one name, one for each combination of label values.
type series[M any] struct{ vector vector[M] }

type vector[M any] interface {
	prometheus.Collector
	WithLabelValues(values ...string) M
	DeleteLabelValues(values ...string) bool
}

// add exports a vector. Without labels it is 0 before the first event.
func add[M any](s *Set, v vector[M], labels []string) series[M] {
	s.registry.MustRegister(v)
	if len(labels) == 0 {
		v.WithLabelValues()
	}
	return series[M]{v}
}

// Of returns the metric at the given values of the labels. Keep it if it is used often: the lookup hashes
// the values.
func (s series[M]) Of(values ...string) M { return s.vector.WithLabelValues(values...) }

// Drop deletes the metric at the given values of the labels. One that was kept from Of is no longer exported.
func (s series[M]) Drop(values ...string) { s.vector.DeleteLabelValues(values...) }

// Sum is the sum of a counter or gauge over all values of the labels.
func (s series[M]) Sum() (sum float64) {
	visit(s.vector, func(v float64) { sum += v })
	return sum
}

// Max is the largest value of a counter or gauge over all values of the labels, at least 0.
func (s series[M]) Max() (highest float64) {
	visit(s.vector, func(v float64) { highest = max(highest, v) })
	return highest
}

// Counter is a counter for each combination of label values. Counters only grow.
type Counter struct{ series[prometheus.Counter] }

// Counter adds a counter, whose name must end in _total.
func (s *Set) Counter(name, help string, labels ...string) Counter {
	options := prometheus.CounterOpts{Name: name, Help: help}
	return Counter{add(s, prometheus.NewCounterVec(options, labels), labels)}
}

// Add adds n, at least 0, to the counter at the given values of the labels.
func (c Counter) Add(n float64, values ...string) { c.Of(values...).Add(n) }

// Value is the count at the given values of the labels.
func (c Counter) Value(values ...string) (count float64) {
	visit(c.Of(values...), func(v float64) { count = v })
	return count
}

// Gauge is a gauge for each combination of label values.
type Gauge struct{ series[prometheus.Gauge] }

// Gauge adds a gauge.
func (s *Set) Gauge(name, help string, labels ...string) Gauge {
	options := prometheus.GaugeOpts{Name: name, Help: help}
	return Gauge{add(s, prometheus.NewGaugeVec(options, labels), labels)}
}

// Set sets the gauge at the given values of the labels.
func (g Gauge) Set(v float64, values ...string) { g.Of(values...).Set(v) }

// Histogram is a histogram for each combination of label values.
type Histogram struct{ series[prometheus.Observer] }

// Histogram adds a histogram with these upper bounds, in ascending order.
func (s *Set) Histogram(name, help string, bounds []float64, labels ...string) Histogram {
	options := prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}
	return Histogram{add(s, prometheus.NewHistogramVec(options, labels), labels)}
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

// visit calls see with the value of every counter and gauge of a collector.
func visit(c prometheus.Collector, see func(float64)) {
	metrics := make(chan prometheus.Metric)
	go func() {
		c.Collect(metrics)
		close(metrics)
	}()
	for metric := range metrics {
		var m dto.Metric
		if metric.Write(&m) == nil {
			see(m.GetCounter().GetValue() + m.GetGauge().GetValue()) // one of them is nil, and 0
		}
	}
}
