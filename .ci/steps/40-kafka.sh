#!/bin/bash
# What talks to Kafka, against a real Apache Kafka: one broker with TLS and SASL, then three with replication.
set -euo pipefail
cd "$(dirname "$0")/../.."
java -version 2>&1 | head -1
go run ./test/kafka/with -secure go test -count=1 -timeout 600s ./internal/topic/... ./producer/...
go run ./test/kafka/with -brokers 3 go test -count=1 -timeout 600s ./producer/...
