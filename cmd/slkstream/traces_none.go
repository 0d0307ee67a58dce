//go:build !otel

package main

import (
	"context"
	"log/slog"

	"github.com/slkstream/slkstream/pipeline"
)

// tracing exports nothing: OpenTelemetry and what it brings are a tenth of the binary, so builds have them only with
// -tags otel, as images and releases do. A collector that is asked for in vain is reported.
func tracing(_ context.Context, log *slog.Logger) (traced func(*pipeline.Trace), flush func(), err error) {
	if tracesWanted() {
		log.Warn("traces are not exported: this build is without OpenTelemetry",
			"setting", "OTEL_EXPORTER_OTLP_ENDPOINT", "do", "build with -tags otel, or use the image or a release")
	}
	return nil, func() {}, nil
}
