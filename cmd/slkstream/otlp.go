//go:build otel

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// exportMetrics exports metrics over OTLP/HTTP, once a minute or as OTEL_METRIC_EXPORT_INTERVAL says, if a collector
// of metrics is named. The caller calls flush at the end, which exports once more.
func exportMetrics(ctx context.Context, from prometheus.Gatherer) (flush func(), err error) {
	if !exportWanted("METRICS") {
		return func() {}, nil
	}
	exporter, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := aboutProcess(ctx)
	if err != nil {
		return nil, err
	}
	provider := metric.NewMeterProvider(metric.WithResource(about), metric.WithReader(
		metric.NewPeriodicReader(exporter, metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(from))))))
	return atMost5s(provider.Shutdown), nil
}

// aboutProcess describes the process to collectors.
func aboutProcess(ctx context.Context) (*resource.Resource, error) {
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "slkstream")),
		resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, errors.Join(errors.New("OTEL_RESOURCE_ATTRIBUTES is wrong"), err)
	}
	return about, nil
}

// atMost5s makes a shutdown that ends in time. If the collector is away, what was not sent is lost, and said; results are not.
func atMost5s(shutdown func(context.Context) error) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			otel.Handle(err)
		}
	}
}
