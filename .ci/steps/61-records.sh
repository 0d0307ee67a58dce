#!/bin/bash
# Ten seconds of each fuzz target of the records: decoders of every form, the JSON scanner and its numbers, strings out.
set -euo pipefail
cd "$(dirname "$0")/../.."
for target in FuzzDecode FuzzScanner FuzzNumber FuzzString; do
	go test -run '^$' -fuzz "^$target\$" -fuzztime 10s ./internal/record
done
