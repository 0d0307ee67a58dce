#!/bin/bash
# The street camera of examples/street on the first 150 frames of its video: the score must hold and both rivals be beaten.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=.ci/kept.sh
. .ci/kept.sh
cp -r examples/street "$work/street"
cp -r "$kept/media/media" "$work/street/media"
go build -o "$work/slkstream" ./cmd/slkstream
cd "$work/street"
"$kept/street/bin/python" street.py --slkstream "$work/slkstream" --listen 127.0.0.1:0 --frames 150 --threads 2 --at-least .8
test -s out/street.mp4
