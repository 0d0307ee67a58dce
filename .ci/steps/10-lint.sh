#!/bin/bash
# The stricter gofmt and staticcheck, each at the release that is named here, lines that end before column 110, and no
# file above 1 MiB: a built program was committed once.
set -euo pipefail
cd "$(dirname "$0")/../.."
large=$(git ls-files -z | xargs -0 sh -c 'find "$@" -maxdepth 0 -size +1024k' sh)
[ -z "$large" ] || { echo "too large to commit: $large"; exit 1; }
would=$(go run mvdan.cc/gofumpt@v0.12.0 -l .)
[ -z "$would" ] || { echo "gofumpt would change:"; echo "$would"; exit 1; }
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 -tags browser,docs,otel ./...
go test -count=1 -tags otel -run Traces ./cmd/slkstream
go test -count=1 -tags lean -run Lean ./internal/table
echo "gofumpt and staticcheck have nothing to say"
.ci/long-lines.sh
