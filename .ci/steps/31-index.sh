#!/bin/bash
# Neighbours and kernels: the race detector, every fuzz target, and the generator's output as it is committed.
set -euo pipefail
cd "$(dirname "$0")/../.."
go test -race -timeout 20m ./index ./internal/kernel
for package in index internal/kernel; do
	for target in $(grep -ho '^func Fuzz[A-Za-z]*' "$package"/*_test.go | sed 's/^func //'); do
		go test -run '^$' -fuzz "^$target\$" -fuzztime 10s "./$package"
	done
done
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
go run -C internal/kernel/generate . "$generated"
for file in "$generated"/*; do
	diff -q "$file" "internal/kernel/$(basename "$file")"
done
