#!/bin/bash
# What a newcomer waits for: the build from an empty cache, where its time goes by module, and the size of the binary.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
from=$SECONDS
CGO_ENABLED=0 GOCACHE=$dir/cache go build -debug-actiongraph="$dir/actions.json" -trimpath -tags lean -ldflags "-s -w" -o "$dir/slkstream" ./cmd/slkstream
echo "built from an empty cache in $((SECONDS - from)) s, $(stat -c %s "$dir/slkstream") bytes"
go run ./internal/weigh "$dir/actions.json"
