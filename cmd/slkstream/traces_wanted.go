package main

import "os"

// tracesWanted reports whether OpenTelemetry's environment variables name a collector of traces.
func tracesWanted() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}
