#!/bin/bash
# The solver under the race detector, and its fuzz target for ten seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
go test -race -count=1 -timeout 900s ./solver/...
go test ./solver -run '^$' -fuzz FuzzSolve -fuzztime 10s -timeout 300s
