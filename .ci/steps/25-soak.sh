#!/bin/bash
# Random plays and histories, of which go test ./... takes the first few, in full.
set -euo pipefail
cd "$(dirname "$0")/../.."
SLKSTREAM_TEST_LONG=1 go test -count=1 -run 'TestNeverBelowTheNearestExample|TestRandomHistories$|TestJacobiRises' ./internal/demo \
	./internal/state ./solver
