#!/bin/bash
# The arm64 kernels, and the neighbours found with them, on an emulated processor.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 GOARCH=arm64
go vet ./internal/kernel ./index
go test -c -o "$work/kernel" ./internal/kernel
go test -c -o "$work/index" ./index
(cd internal/kernel && qemu-aarch64-static "$work/kernel" -test.timeout 20m)
(cd index && qemu-aarch64-static "$work/index" -test.run 'Exact|Gram|Approximate' -test.timeout 20m)
