//go:build otel

package main

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/slkstream/slkstream/pipeline/answering"
)

// mostLinks bounds the items that a span is linked to: OpenTelemetry drops links beyond this limit
// of its own.
const mostLinks = 128

// tracing exports a span per episode over OTLP/HTTP if OTEL_EXPORTER_OTLP_ENDPOINT, or its form for traces,
// is set. The SDK reads it and its other variables itself. Without it traced is nil. The caller calls flush
// at the end. What a collector refuses, of metrics too, is logged.
func tracing(ctx context.Context, log *slog.Logger) (traced func(*answering.Trace), flush func(), err error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("the collector did not take traces or metrics", "error", err, "do",
			"if it never takes one of them: OTEL_TRACES_EXPORTER=none, OTEL_METRICS_EXPORTER=none")
	}))
	if !exportWanted("TRACES") {
		return nil, func() {}, nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := aboutProcess(ctx)
	if err != nil {
		return nil, nil, err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	tracer := provider.Tracer("github.com/slkstream/slkstream")
	return func(t *answering.Trace) { episodeSpan(tracer, t) }, atMost5s(provider.Shutdown), nil
}

// episodeSpan records one span from an episode's close to the acknowledgement of its results. An episode has
// many senders, so they are links, not parents.
func episodeSpan(tracer trace.Tracer, t *answering.Trace) {
	var links []trace.Link
	for _, item := range t.Items {
		carrier := propagation.MapCarrier{"traceparent": item.Parent, "tracestate": item.State}
		remote := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
		if remote.IsValid() && len(links) < mostLinks {
			links = append(links, trace.Link{SpanContext: remote})
		}
	}
	_, span := tracer.Start(context.Background(), "episode", trace.WithTimestamp(t.Closed), trace.WithLinks(links...),
		trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("slkstream.stream", t.Stream), attribute.Int64("slkstream.episode", t.Episode),
			attribute.Int("slkstream.items", t.Count), attribute.String("slkstream.closed", t.Reason),
			attribute.Float64("slkstream.solve_seconds", t.Solve.Seconds())))
	span.End(trace.WithTimestamp(t.Acknowledged))
}
