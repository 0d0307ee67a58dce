#!/bin/bash
# What a newcomer waits for: the build from an empty cache, which README says how long, where its time goes by module, and
# the size of the binary.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
TIMEFORMAT="%U %S"
{ time CGO_ENABLED=0 GOCACHE=$dir/cache go build -debug-actiongraph="$dir/actions.json" -trimpath -tags lean -ldflags "-s -w" \
	-o "$dir/slkstream" ./cmd/slkstream; } 2>"$dir/time"
took=$(awk '{ printf "%d", $1 + $2 }' "$dir/time")
said=$(sed -n 's/.*(\([0-9]*\) s of CPU time, once[:)].*/\1/p' README.md)
echo "built from an empty cache in $took s of CPU time, $(stat -c %s "$dir/slkstream") bytes; README says $said s"
go run ./internal/weigh "$dir/actions.json"
[ "$took" -le $((said * 3 / 2)) ]
