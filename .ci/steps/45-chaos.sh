#!/bin/bash
# Breaks stages and brokers on purpose and checks that every promise is kept: a short form of what internal/chaos/README.md describes.
# Random histories wait more than they compute, and are played beside the first processes.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/slkstream" ./cmd/slkstream
go build -o "$work/chaos" ./internal/chaos
chaos() { timeout 300 "$work/chaos" -binary "$work/slkstream" "$@"; }
chaos -scenario histories -histories 120 -seed 1000 >"$work/histories" 2>&1 &
histories=$!
chaos -table -short -at-once 8
chaos -scenario kills -delivery exactly-once -broker embedded -records 5000 -events 8 -broker-kills 2
chaos -scenario kills -delivery exactly-once -records 5000 -events 8 -broker-kills 1
status=0
wait "$histories" || status=1
cat "$work/histories"
[ "$status" = 0 ]
chaos -scenario mixed -delivery at-least-once -records 4000 -events 8 -pause 1s
chaos -scenario zombie -delivery exactly-once -records 3000 -events 2
chaos -scenario cut -delivery exactly-once -records 4000 -events 10 -pause 1s
chaos -scenario rolling -delivery exactly-once -brokers 3 -records 4000 -events 3
chaos -scenario now -delivery exactly-once -broker embedded -records 3000 -events 6 -pause 1s
chaos -scenario now -delivery at-least-once -broker embedded -records 3000 -events 6 -pause 1s
chaos -scenario names -delivery exactly-once -broker embedded -records 3000 -events 6 -pause 1s
chaos -scenario names -delivery at-least-once -broker embedded -records 3000 -events 6 -pause 1s
# Stages killed between runs with other settings; and builds with mistakes, each of which these histories find.
go test -tags mistakes -count=1 -timeout 900s -run 'TestSettingsBetweenRuns|TestHistoriesOfTheState' -parallel 8 ./cmd/slkstream -histories 60
