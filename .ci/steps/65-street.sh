#!/bin/bash
# The street camera of examples/street on the first 150 frames of its video: the score must hold and both rivals be beaten.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r examples/street "$work/street"
go build -o "$work/slkstream" ./cmd/slkstream
if ! command -v apt-get >/dev/null; then echo "no Debian, so no video: not run" && exit 1; fi
[ -n "$(ls /var/lib/apt/lists 2>/dev/null)" ] || apt-get update -qq
python3 -m venv "$work/venv" || { apt-get update -qq && apt-get install -y -qq python3-venv && python3 -m venv "$work/venv"; }
"$work/venv/bin/pip" -q install -r "$work/street/requirements.txt"
cd "$work/street"
../venv/bin/python fetch.py
../venv/bin/python street.py --slkstream "$work/slkstream" --listen 127.0.0.1:0 --frames 150 --threads 2 --at-least .8
test -s out/street.mp4
