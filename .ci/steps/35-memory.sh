#!/bin/bash
# Broken state is refused and never panics; streams that share a metric do so without a race.
set -euo pipefail
cd "$(dirname "$0")/../.."
go test -run '^$' -fuzz FuzzRestore -fuzztime 10s ./internal/memory
CGO_ENABLED=1 go test -race -timeout 10m -run 'SharedMetric' ./internal/memory
