module slkstream

go 1.26.0

require github.com/segmentio/kafka-go v0.4.51

require (
	github.com/klauspost/compress v1.20.1 // indirect
	github.com/pierrec/lz4/v4 v4.1.30 // indirect
	github.com/stretchr/testify v1.9.0 // indirect
	golang.org/x/net v0.59.0 // indirect
)
