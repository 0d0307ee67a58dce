#!/bin/bash
# docker-compose.yml: every command and variable through our own loader, and the same services as processes on a real Kafka.
set -euo pipefail
cd "$(dirname "$0")/../.."
with=$(mktemp -d)
trap 'rm -rf "$with"' EXIT
go build -o "$with/kafka" ./test/kafka/with
go vet -C test/compose ./...
"$with/kafka" go test -C test/compose -count=1 -timeout 600s ./...
