#!/bin/bash
# docs/python.md as a person would follow it: its Python in one go, against the stage that it starts on the embedded broker.
set -euo pipefail
cd "$(dirname "$0")/../.."
page=$PWD/docs/python.md
work=$(mktemp -d)
stage=""
finish() {
	[ -z "$stage" ] || { kill "$stage" && wait "$stage"; } || true
	rm -rf "$work"
}
trap finish EXIT
go build -o "$work/slkstream" ./cmd/slkstream
# shellcheck source=.ci/kept.sh
. .ci/kept.sh
python3 examples/label-studio/test_label_studio.py
python3 examples/alerts/test_alert.py
python3 examples/home-assistant/test_frigate.py "$work/frigate.jsonl"
"$work/slkstream" label --input "$work/frigate.jsonl" --k 1 --output "$work/frigate.csv"
awk '/^```python$/ {code = 1; next} /^```$/ {code = 0} code' "$page" >"$work/page.py"
make=$(sed -n 's/^slkstream check/check/p' "$page" | head -1)
command=$(sed -n 's/^slkstream run/run/p' "$page" | head -1)
cd "$work"
PATH=$work:$PATH
# shellcheck disable=SC2086
./slkstream $make 2>stage.log
# shellcheck disable=SC2086
./slkstream $command 2>>stage.log &
stage=$!
for _ in $(seq 100); do # a person would start the page's Python later
	if ./slkstream health 2>/dev/null; then break; fi
	sleep .2
done
if ! timeout 180 "$kept/page/bin/python" page.py | tee said; then
	tail -n 30 stage.log
	exit 1
fi
# feed sends the page's camera to the partition of the page's producer
./slkstream feed --input rows.jsonl --key cam-7 --label-field - --out embeddings 2>>stage.log
./slkstream check --in embeddings --out results --labels labels 2>>stage.log | tee checked
if ! grep -q 'hold 1 streams' checked || grep 'is in partitions' checked; then exit 1; fi
awk '/results, .* right/ {found = $1 == 600 && $3 >= .9} END {exit !found}' said || { echo "not 600 results, or too few right"; exit 1; }
