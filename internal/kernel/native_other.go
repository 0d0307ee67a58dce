//go:build !amd64

package kernel

func native() []version { return nil }
