#!/bin/bash
# The race detector where goroutines are. It needs a C compiler, which is installed if there is none.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v cc >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	sudo=""; [ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get update -qq
	$sudo apt-get install -y -qq --no-install-recommends gcc libc6-dev
fi
CGO_ENABLED=1 go test -race -timeout 900s ./index/... ./internal/kernel ./solver ./solver/metric ./consumer/... ./producer/... ./pipeline/... \
	./internal/topic/... ./internal/broker/... ./internal/web/... ./internal/telemetry/...
CGO_ENABLED=1 go test -race -timeout 600s -run SharedMetric ./solver/stream
