//go:build otel

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/answering"
)

// A collector gets one span per episode, linked to the items whose senders gave a context, up to its
// limit of links.
func TestTraces(t *testing.T) {
	got := make(chan *collector.ExportTraceServiceRequest, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %d bytes, %v", r.URL.Path, len(body), err)
		}
		got <- &request
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	traced, flush, err := tracing(t.Context(), nil)
	if err != nil || traced == nil {
		t.Fatal(err)
	}
	closed := time.Unix(1_700_000_000, 0)
	items := []record.TraceContext{
		{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "vendor=1"}, {Parent: "rubbish"},
	}
	for range 2 * mostLinks {
		items = append(items, items[0])
	}
	traced(&answering.Trace{
		Stream: "cam-7", Episode: 3, Count: len(items), Reason: "size", Closed: closed,
		Acknowledged: closed.Add(time.Second), Items: items,
	})
	flush()
	span := (<-got).ResourceSpans[0].ScopeSpans[0].Spans[0]
	if span.Name != "episode" || len(span.Links) != mostLinks ||
		span.EndTimeUnixNano-span.StartTimeUnixNano != uint64(time.Second) {
		t.Errorf("span %v with %d links, %d to %d", span.Name, len(span.Links), span.StartTimeUnixNano, span.EndTimeUnixNano)
	}
}

func TestNoTracesUnlessAsked(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	if traced, _, err := tracing(t.Context(), nil); traced != nil || err != nil {
		t.Errorf("traces without a collector: %v", err)
	}
}
