#!/bin/bash
# long-lines.sh [--update]: no Go file may have more lines above 110 columns (a tab is one) than .ci/long-lines says it
# has, so that new lines keep to 110 and old ones can only get fewer. --update writes the counts anew; a review sees a
# count that grew. Generated files are free.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/.."
now=$(mktemp)
trap 'rm -f "$now"' EXIT
git ls-files '*.go' | xargs grep -L -m1 'DO NOT EDIT\.$' | sort |
	xargs awk 'FNR == 1 { name = FILENAME } length($0) > 110 { count[name]++ } END { for (n in count) print n, count[n] }' |
	sort >"$now"
if [ "${1:-}" = --update ]; then
	cp "$now" .ci/long-lines
	exit
fi
awk 'NR == FNR { known[$1] = $2; next }
	$2 > known[$1] + 0 { printf "%s has %d lines above 110 columns, not %d\n", $1, $2, known[$1]; worse = 1 }
	END { exit worse }' .ci/long-lines "$now" || { echo "shorten them; see .ci/long-lines.sh"; exit 1; }
awk '{ lines += $2 } END { print lines, "lines in", NR, "files are above 110 columns" }' "$now"
