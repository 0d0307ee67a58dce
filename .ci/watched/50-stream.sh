#!/bin/bash
# The stage's tests in their long form on the embedded broker and, beside them, the same tests against a real Kafka: in
# their short form, but for the kills. Most of their time is waiting, so that both go at once.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -o "$dir/pipeline.test" ./pipeline
go build -o "$dir/with" ./test/kafka/with
cd pipeline
embedded() {
	SLKSTREAM_TEST_LONG=1 "$dir/pipeline.test" -test.timeout 25m -test.v
}
real() {
	"$dir/with" bash -euc "
		'$dir/pipeline.test' -test.timeout 15m -test.v -test.skip TestKilled
		SLKSTREAM_TEST_LONG=1 '$dir/pipeline.test' -test.timeout 15m -test.v -test.run TestKilled"
}
embedded >"$dir/embedded.log" 2>&1 &
first=$!
status=0
real >"$dir/real.log" 2>&1 || status=1
wait "$first" || status=1
for log in embedded real; do
	echo "$log"
	grep -E '^(---|    ---|ok|PASS|FAIL|panic)|_test.go' "$dir/$log.log" | cut -c1-400 | tail -n 60 || true
done
exit "$status"
