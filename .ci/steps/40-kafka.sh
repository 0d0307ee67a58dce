#!/bin/bash
# What talks to Kafka, against a real Apache Kafka: one broker with TLS and SASL, through which every form of a record goes
# too, then three with replication; then a new user's path on one broker: every command of README, docs/get-started.md and
# docs/kafka.md, and the answers to them.
set -euo pipefail
cd "$(dirname "$0")/../.."
java -version 2>&1 | head -1
go run ./test/kafka/with -secure bash -euc '
	go test -count=1 -timeout 600s ./internal/topic/... ./consumer ./producer/...
	go test -count=1 -timeout 300s -run TestFormsThroughAStage ./cmd/slkstream'
go run ./test/kafka/with -brokers 3 go test -count=1 -timeout 600s ./producer/...
go run ./test/kafka/with bash -euc '
	export SLKSTREAM_BROKERS=$SLKSTREAM_TEST_BROKERS
	go test -tags docs -count=1 -timeout 600s -run "TestCommandsOfTheDocsRun/(README|get-started|kafka).md" ./cmd/slkstream'
