#!/bin/bash
# A minute of the hostile run on a real Kafka: how long each record waits depends on the machine, so it is reported and
# does not decide.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/slkstream" ./cmd/slkstream
go build -o "$work/chaos" ./internal/chaos
timeout 300 "$work/chaos" -binary "$work/slkstream" -scenario hostile -delivery exactly-once -for 60s
