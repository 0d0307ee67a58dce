#!/bin/bash
# The pages in a headless Chromium: they load, move and fit every window, a click teaches, the review queue takes every key,
# axe-core finds nothing serious in any state, and the console stays silent.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=.ci/kept.sh
. .ci/kept.sh
export SLKSTREAM_AXE=$kept/axe.min.js
go vet -tags browser ./internal/web ./cmd/slkstream
go test -tags browser -count=1 -timeout 15m -run "Page|Review|Browser" ./internal/web ./cmd/slkstream
