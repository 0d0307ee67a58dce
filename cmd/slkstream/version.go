package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by a release build: -ldflags "-X main.version=v1.2.3".
var version = ""

var versionCommand = command{
	name:  "version",
	short: "print the version and what it was built with",
	run:   printVersion,
}

func printVersion(_ context.Context, c *call) error {
	if c.Config.Output.JSON {
		return json.NewEncoder(c.Out).Encode(map[string]string{
			"version": versionText(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(c.Out, "slkstream %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	return err
}

// versionText returns the release, or else the module version and the commit in the build information.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unreleased"
	}
	return info.Main.Version
}
