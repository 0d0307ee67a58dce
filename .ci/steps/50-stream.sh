#!/bin/bash
# The stage's tests in their long form on the embedded broker and, beside them, the same tests against a real Kafka: in
# their short form, but for the kills. Most of their time is waiting, so that all go at once.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -o "$dir/pipeline.test" ./pipeline
go build -o "$dir/with" ./test/kafka/with
cd pipeline
long() { SLKSTREAM_TEST_LONG=1 "$dir/pipeline.test" -test.timeout 15m -test.v "$@"; }
short() { "$dir/pipeline.test" -test.timeout 15m -test.v "$@"; }
real() {
	export dir
	export -f long short
	"$dir/with" bash -euc 'short -test.skip TestKilled; long -test.run TestKilled'
}
long -test.run TestKilled >"$dir/killed.log" 2>&1 &
killed=$!
long -test.skip TestKilled >"$dir/embedded.log" 2>&1 &
embedded=$!
status=0
real >"$dir/real.log" 2>&1 || status=1
wait "$killed" || status=1
wait "$embedded" || status=1
for log in killed embedded real; do
	echo "$log"
	grep -E '^(---|    ---|ok|PASS|FAIL|panic)|_test.go' "$dir/$log.log" | cut -c1-400 | tail -n 40 || true
done
for log in killed embedded real; do # last, where it is seen
	grep -E -B 5 -A 15 '^ *--- FAIL|^panic' "$dir/$log.log" | cut -c1-400 | head -n 40 || true
done
exit "$status"
