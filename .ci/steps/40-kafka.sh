#!/bin/bash
# What talks to Kafka, against a real Apache Kafka: one broker with TLS and SASL, through which every form of a record goes
# too, then three with replication; then every command of docs/kafka.md, on one broker.
set -euo pipefail
cd "$(dirname "$0")/../.."
java -version 2>&1 | head -1
go run ./test/kafka/with -secure bash -euc '
	go test -count=1 -timeout 600s ./internal/topic/... ./producer/...
	go test -count=1 -timeout 300s -run TestFormsThroughAStage ./cmd/slkstream'
go run ./test/kafka/with -brokers 3 go test -count=1 -timeout 600s ./producer/...
go run ./test/kafka/with bash -euc '
	export SLKSTREAM_BROKERS=$SLKSTREAM_TEST_BROKERS
	go test -tags docs -count=1 -timeout 300s -run "TestCommandsOfTheDocsRun/kafka.md" ./cmd/slkstream'
