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
	answer, err := askStage(ctx, c, "/livez")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// askStage asks the stage that listens on --listen of this machine. The answer's body is the caller's to
// close.
func askStage(ctx context.Context, c *call, path string) (*http.Response, error) {
	host, port, err := net.SplitHostPort(c.Config.Listen.Address)
	if err != nil {
		return nil, usagef("listen %s: %w", c.Config.Listen.Address, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path,
		nil)
	if err != nil {
		return nil, err
	}
	if token := string(c.Config.Listen.Token); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Timeout: 3 * time.Second}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("%s answers %s", request.URL, answer.Status)
	}
	return answer, nil
}
