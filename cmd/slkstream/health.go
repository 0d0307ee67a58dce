package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func newHealthCommand() *cobra.Command {
	return withSettings("health", &cobra.Command{
		Use:   "health",
		Short: "ask a running stage whether it is alive; for containers without a shell",
		Long:  "health asks the stage that listens on --listen of this machine, and exits with 0 if it is alive.",
		Args:  noArguments(""),
	}, askHealth)
}

func askHealth(ctx context.Context, c *call) error {
	host, port, err := net.SplitHostPort(c.Config.Listen.Address)
	if err != nil {
		return usagef("listen %s: %w", c.Config.Listen.Address, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/livez", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL, answer.Status)
	}
	return nil
}
