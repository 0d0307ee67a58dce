#!/bin/bash
# Every fuzz target of the module, ten seconds each.
set -euo pipefail
cd "$(dirname "$0")/../.."
said=$(mktemp)
trap 'rm -f "$said"' EXIT
targets=0
for package in $(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d' ' -f2 | sort -u); do
		echo "--- $package $target"
		targets=$((targets + 1))
		# Minutes spent on shortening an input that is merely new would be taken from finding one that fails.
		if go test -run '^$' -fuzz "^$target\$" -fuzztime 10s -fuzzminimizetime 20x -timeout 300s "$package" >"$said" 2>&1; then
			tail -n 3 "$said"
		elif grep -q 'context deadline exceeded' "$said" && ! grep -q 'Failing input' "$said"; then
			tail -n 3 "$said" # go's own race at the end of the time: it found nothing
		else
			tail -n 40 "$said"
			exit 1
		fi
	done
done
echo "$targets fuzz targets"
[ "$targets" -gt 0 ]
