package main

import "os"

// tracesWanted tells whether the environment names a collector of traces, in OpenTelemetry's own variables.
func tracesWanted() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}
