//go:build !amd64 && !arm64

package kernel

func native() []version { return nil }
