#!/bin/bash
# The kernels' assembly is what its generator writes.
set -euo pipefail
cd "$(dirname "$0")/../.."
generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
go run -C internal/kernel/generate . "$generated"
for file in "$generated"/*; do
	diff -q "$file" "internal/kernel/$(basename "$file")"
done
