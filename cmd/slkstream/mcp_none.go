//go:build !mcp

package main

import (
	"context"
	"errors"
)

// serveAssistant is not built in: the protocol's library is only in builds with -tags mcp, such as images and releases.
func serveAssistant(context.Context, *call) error {
	return errors.New("this build cannot serve assistants: build with -tags mcp, or use the image or a release")
}
