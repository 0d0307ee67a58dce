# The five commands people type. Each is plain Go tooling.
.PHONY: build test lint bench generate

build:
	go build -trimpath -tags arrow_json_stdlib,otel,mcp ./cmd/slkstream

test:
	go test ./...

lint:
	bash .ci/steps/10-lint.sh
	go vet ./...

bench:
	go run ./bench --quick

generate:
	go run -C internal/kernel/generate . "$(CURDIR)/internal/kernel"
	go test ./config -run TestReference -update
	go test ./internal/record -run TestAsyncAPI -update
	go test ./cmd/slkstream -run TestHelp -update
	go test -C test/kubernetes -run TestSchemaOfSettings . -update
