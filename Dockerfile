# The stage in an image of its own: one static binary, no shell, no root. For another platform it is cross-compiled on this one.
FROM --platform=$BUILDPLATFORM golang:1.26.5@sha256:3aff6657219a4d9c14e27fb1d8976c49c29fddb70ba835014f477e1c70636647 AS build
WORKDIR /src
# The tag is that of docs/dependencies.md. Both programs below are built by the same flags, so that their packages are compiled once.
ENV CGO_ENABLED=0 GOFLAGS="-trimpath -tags=arrow_json_stdlib,otel,mcp"
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=""
ARG TARGETOS TARGETARCH
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH go build -ldflags "-s -w -X main.version=${VERSION}" -o /out/slkstream ./cmd/slkstream \
	&& go run ./cmd/slkstream sample /out/sample \
	&& mkdir -p /out/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/slkstream /slkstream
COPY --from=build /out/sample /sample
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
WORKDIR /data
EXPOSE 8070
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/slkstream", "health"]
ENTRYPOINT ["/slkstream"]
CMD ["run"]
