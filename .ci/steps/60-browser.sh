#!/bin/bash
# The live page in a headless Chromium: it loads, moves, fits every window, a click teaches, the review queue takes every key, and the console stays silent.
set -euo pipefail
cd "$(dirname "$0")/../.."
go vet -tags browser ./internal/web ./cmd/slkstream
go test -tags browser -count=1 -timeout 10m -run "Page|Review|Browser" ./internal/web ./cmd/slkstream
