//go:build !otel

package main

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slkstream/slkstream/pipeline/answering"
)

// tracing exports nothing: OpenTelemetry and its dependencies are a tenth of the binary, so only builds with
// -tags otel, such as images and releases, have them. A collector that is configured nevertheless is logged.
func tracing(_ context.Context, log *slog.Logger) (traced func(*answering.Trace), flush func(), err error) {
	if exportWanted("TRACES") || exportWanted("METRICS") {
		log.Warn("traces and metrics are not exported: this build is without OpenTelemetry",
			"setting", "OTEL_EXPORTER_OTLP_ENDPOINT", "do", "build with -tags otel, or use the image or a release")
	}
	return nil, func() {}, nil
}

// exportMetrics exports nothing either.
func exportMetrics(context.Context, prometheus.Gatherer) (flush func(), err error) {
	return func() {}, nil
}
