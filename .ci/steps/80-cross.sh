#!/bin/bash
# The release script, but for the image: a static binary for every platform that is promised, from a clean clone, with
# checksums that hold and a bill of materials that names what is built in.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
deploy/release.sh v0.0.0-ci --output "$out" --no-image
cd "$out"
[ "$(ls slkstream-v0.0.0-ci-* | wc -l)" = 6 ]
sha256sum --quiet --check SHA256SUMS
./slkstream-v0.0.0-ci-linux-amd64 version | grep -q "v0.0.0-ci go1"
if command -v file >/dev/null; then file slkstream-v0.0.0-ci-linux-amd64 | grep -q "statically linked"; fi
for module in segmentio/kafka-go twmb/avro prometheus/client_golang; do grep -q "github.com/$module" slkstream-v0.0.0-ci.cdx.json; done
! grep -q chromedp slkstream-v0.0.0-ci.cdx.json
cd - >/dev/null
CGO_ENABLED=0 GOOS=windows go vet ./cmd/slkstream
