#!/bin/bash
# The live page in a headless Chromium: it loads, moves, fits every window, a click teaches, the review queue takes every key, and the console stays silent.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v chromium >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	sudo=""; [ "$(id -u)" = 0 ] || sudo=sudo
	$sudo apt-get update -qq
	$sudo apt-get install -y -qq --no-install-recommends chromium
fi
go vet -tags browser ./internal/web ./cmd/slkstream
go test -tags browser -count=1 -timeout 10m -run "Page|Review|Browser" ./internal/web ./cmd/slkstream
