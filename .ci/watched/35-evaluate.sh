#!/bin/bash
# Evidence: the bench's own sections on the sample data, and, where the evaluation data are present, accuracy on them.
set -euo pipefail
cd "$(dirname "$0")/../.."
results=$(mktemp)
trap 'rm -f "$results"' EXIT
go run ./bench --quick --only battery,fewshot,learning --output "$results"
grep -q '| fewshot.default.core |' "$results"
grep -q 'Discovery' "$results"
grep -q "| battery.streams.lead |" "$results"

data=../shared/data
[ -d "$data/clip-dtd" ] || { echo "no evaluation data: accuracy is not checked"; exit 0; }
sets=$(for name in clip-dtd clip-flowers clip-caltech101 grocery omniglot28; do printf '%s,' "$data/$name"; done)
go build -o "$results.slkstream" ./cmd/slkstream
trap 'rm -f "$results" "$results.slkstream"' EXIT
# Forty tasks a cell: the mean of all is good to about half a point, and the floors lie a point below the bars.
"$results.slkstream" eval fewshot --data "${sets%,}" --tasks 40 --method slk-means,nearest --json | python3 -c '
import collections, json, sys
cells, faults = collections.defaultdict(list), 0
for line in map(json.loads, sys.stdin):
    group = "core" if line["mix"] in ("balanced", "dirichlet:2") else "skewed"
    cells[line["method"], group].append(line["accuracy"])
    faults += line["objective_rises"] + line["lost_supports"]
mean = {key: sum(values) / len(values) for key, values in cells.items()}
print(mean, "rises and lost supports:", faults)
floors = {("slk-means", "core"): 86.4, ("slk-means", "skewed"): 86.3}
below = [key for key, floor in floors.items() if mean[key] < floor]
below += [group for group, gain in (("core", 2), ("skewed", 2.5)) if mean["slk-means", group] - mean["nearest", group] < gain]
sys.exit(f"below the floor: {below}" if below or faults else 0)'

# The docs' own commands on the same data, with fewer tasks and streams.
SLKSTREAM_TEST_DATA=$(realpath "$data") go test -tags docs -count=1 -timeout 900s -run TestEvaluationsOfTheDocsRun -v ./cmd/slkstream | grep -vE '^(=== RUN|=== PAUSE|=== CONT)'
