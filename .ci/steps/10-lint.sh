#!/bin/bash
# The stricter gofmt, lines of 130 columns and staticcheck, each by a tool at the release that is named here, and no file
# that is empty or above 1 MiB: a step was emptied and a built program committed once.
set -euo pipefail
cd "$(dirname "$0")/../.."
large=$(git ls-files -z | xargs -0 sh -c 'find "$@" -maxdepth 0 -size +1024k' sh)
[ -z "$large" ] || { echo "too large to commit: $large"; exit 1; }
empty=$(git ls-files -z | xargs -0 sh -c 'find "$@" -maxdepth 0 -empty' sh)
[ -z "$empty" ] || { echo "empty, as a file that was written over: $empty"; exit 1; }
would=$(go run mvdan.cc/gofumpt@v0.12.0 -l .)
[ -z "$would" ] || { echo "gofumpt would change:"; echo "$would"; exit 1; }
long=$(git ls-files '*.go' | { xargs grep -L -m1 'DO NOT EDIT\.$' || true; } |
	xargs go run github.com/segmentio/golines@v0.13.0 -m 130 -t 1 --no-reformat-tags --list-files)
[ -z "$long" ] || { echo "golines -m 130 -t 1 --no-reformat-tags -w would shorten lines of:"; echo "$long"; exit 1; }
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags browser,docs,mistakes,otel,mcp ./...
go test -count=1 -tags otel,mcp -run 'Traces|Assistant' ./cmd/slkstream
go test -count=1 -tags lean ./internal/table
echo "gofumpt and staticcheck have nothing to say"
