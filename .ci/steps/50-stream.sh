#!/bin/bash
# The stage's tests in their long form on the embedded broker, then the same tests against a real Kafka: in their short
# form, but for the kills.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -o "$dir/pipeline.test" ./pipeline
go build -o "$dir/with" ./test/kafka/with
cd pipeline
echo "embedded broker, long"
SLKSTREAM_TEST_LONG=1 "$dir/pipeline.test" -test.timeout 20m -test.v 2>&1 | grep -E '^(---|    ---|ok|PASS|FAIL|panic)|_test.go' | tail -n 80
cd ..
echo "real Kafka"
"$dir/with" bash -euo pipefail -c "
	cd pipeline
	'$dir/pipeline.test' -test.timeout 10m -test.v 2>&1 | grep -E '^(---|    ---|ok|PASS|FAIL|panic)|_test.go' | tail -n 80
	SLKSTREAM_TEST_LONG=1 '$dir/pipeline.test' -test.timeout 15m -test.run TestKilled -test.v 2>&1 | grep -E '^(---|    ---|ok|PASS|FAIL|panic)|_test.go' | tail -n 20"
