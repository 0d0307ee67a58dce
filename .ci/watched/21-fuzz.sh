#!/bin/bash
# Every fuzz target of the module, ten seconds each.
set -euo pipefail
cd "$(dirname "$0")/../.."
targets=0
for package in $(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d' ' -f2 | sort -u); do
		echo "--- $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime 10s -timeout 300s "$package" | tail -3
		targets=$((targets + 1))
	done
done
echo "$targets fuzz targets"
[ "$targets" -gt 0 ]
