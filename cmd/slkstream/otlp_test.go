//go:build otel

package main

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/slkstream/slkstream/internal/telemetry"
)

// A collector gets the metrics that /metrics shows, under the names of the docs, at the latest when the stage ends.
func TestTracesComeWithMetrics(t *testing.T) {
	got := make(chan *collector.ExportMetricsServiceRequest, 4)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportMetricsServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil || r.URL.Path != "/v1/metrics" {
			t.Errorf("%s: %d bytes, %v", r.URL.Path, len(body), err)
		}
		got <- &request
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	set := telemetry.NewSet()
	set.Counter("slkstream_records_total", "answers", "outcome").Of("known").Add(41)
	set.Histogram("slkstream_solve_seconds", "time", []float64{1, 2}).Of().Observe(1.5)
	flush, err := exportMetrics(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	flush()
	var names []string
	for _, scope := range (<-got).ResourceMetrics[0].ScopeMetrics {
		for _, m := range scope.Metrics {
			names = append(names, m.Name)
			if m.Name == "slkstream_records_total" && m.GetSum().DataPoints[0].GetAsDouble() != 41 {
				t.Errorf("%v", m)
			}
			if m.Name == "slkstream_solve_seconds" && m.GetHistogram().DataPoints[0].Count != 1 {
				t.Errorf("%v", m)
			}
		}
	}
	for _, name := range []string{"slkstream_records_total", "slkstream_solve_seconds", "slkstream_build_info", "go_goroutines"} {
		if !slices.Contains(names, name) {
			t.Errorf("no %s among %v", name, names)
		}
	}
}

// A collector that takes traces only is told in the log, with what to do.
func TestTracesOfACollectorThatRefuses(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	var said bytes.Buffer
	if _, _, err := tracing(t.Context(), slog.New(slog.NewTextHandler(&said, nil))); err != nil {
		t.Fatal(err)
	}
	set := telemetry.NewSet()
	set.Counter("slkstream_records_total", "answers", "outcome").Of("known").Add(1)
	flush, err := exportMetrics(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	flush()
	if !strings.Contains(said.String(), "OTEL_METRICS_EXPORTER=none") {
		t.Errorf("said %q", said.String())
	}
}

func TestNoTracesAndNoMetricsIfTurnedOff(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_METRICS_EXPORTER", "none")
	t.Setenv("OTEL_TRACES_EXPORTER", "none")
	if traced, _, err := tracing(t.Context(), slog.Default()); traced != nil || err != nil {
		t.Errorf("traces: %v", err)
	}
	flush, err := exportMetrics(t.Context(), telemetry.NewSet())
	if err != nil {
		t.Fatal(err)
	}
	flush()
}
