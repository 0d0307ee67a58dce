#!/bin/bash
# Makes the pictures of these pages anew from the demo, in a headless Chromium, which must be there. Takes two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
SLKSTREAM_SCREENSHOTS=$dir go test -tags browser -count=1 -timeout 10m -run TestPageFitsEveryWindow ./cmd/slkstream
cp "$dir/light-desktop.png" docs/page.png
cp "$dir/review.png" "$dir/names.png" docs
