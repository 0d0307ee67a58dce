#!/bin/bash
# What talks to Kafka, against a real Apache Kafka: one broker with TLS and SASL, through which every form of a record
# and every command of docs/kafka.md go too, then three with replication.
set -euo pipefail
cd "$(dirname "$0")/../.."
java -version 2>&1 | head -1
go run ./test/kafka/with -secure bash -euc '
	go test -count=1 -timeout 600s ./internal/topic/... ./producer/...
	go test -count=1 -timeout 300s -run TestFormsThroughAStage ./cmd/slkstream
	export SLKSTREAM_BROKERS=$SLKSTREAM_TEST_BROKERS
	go test -tags docs -count=1 -timeout 300s -run "TestCommandsOfTheDocsRun/kafka.md" ./cmd/slkstream'
go run ./test/kafka/with -brokers 3 go test -count=1 -timeout 600s ./producer/...
