#!/bin/bash
# The race detector where goroutines are. It needs a C compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."
CGO_ENABLED=1 go test -race -timeout 900s ./index/... ./internal/kernel ./solver ./solver/metric ./consumer/... ./producer/... ./pipeline/... \
	./internal/topic/... ./internal/broker/... ./internal/web/... ./internal/telemetry/...
