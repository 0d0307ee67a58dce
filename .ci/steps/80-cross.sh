#!/bin/bash
# A static binary for every platform that is promised.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for platform in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath -ldflags "-s -w" -o "$out/slkstream" ./cmd/slkstream
	printf '%-16s %s bytes\n' "$platform" "$(stat -c %s "$out/slkstream")"
	if [ "$platform" = linux/amd64 ] && command -v file >/dev/null; then file "$out/slkstream" | grep -q "statically linked"; fi
done
CGO_ENABLED=0 GOOS=windows go vet ./cmd/slkstream
