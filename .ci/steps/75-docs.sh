#!/bin/bash
# Every command of the docs, run as a person would who follows them. Those that only stop when told to get a few seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
go test -tags docs -count=1 -timeout 900s -run 'TestCommandsOfTheDocs' -v ./cmd/slkstream | grep -vE '^(=== RUN|=== PAUSE|=== CONT)'
