#!/bin/bash
# Breaks stages and brokers on purpose and checks that every promise is kept: a short form of what docs/chaos.md describes.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/slkstream" ./cmd/slkstream
go build -o "$work/chaos" ./internal/chaos
chaos() { timeout 300 "$work/chaos" -binary "$work/slkstream" "$@"; }
chaos -scenario histories -histories 120 -seed 1000
chaos -scenario kills -delivery exactly-once -broker embedded -records 5000 -events 8 -broker-kills 2
chaos -scenario kills -delivery exactly-once -records 5000 -events 8 -broker-kills 1
chaos -scenario kills -delivery at-least-once -records 5000 -events 8 -broker-kills 1
chaos -scenario zombie -delivery exactly-once -records 3000 -events 2
chaos -scenario rolling -delivery exactly-once -brokers 3 -records 5000 -events 3
