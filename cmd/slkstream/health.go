package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func newHealthCommand() *cobra.Command {
	return withSettings("health", &cobra.Command{
		Use:   "health",
		Short: "ask a running stage whether it is alive; for containers without a shell",
		Long:  "health asks the stage that listens on --listen of this machine, and exits with 0 if it is alive.",
	}, askHealth)
}

func askHealth(ctx context.Context, c *call) error {
	answer, err := askStage(ctx, c, "/livez")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// askStage sends a GET to the stage that listens on --listen of this machine. The caller closes
// the answer's body.
func askStage(ctx context.Context, c *call, path string) (*http.Response, error) {
	return callStage(ctx, c, c.Config.Listen.Address, path, nil)
}

// callStage sends a request to the stage at address: a POST with a JSON body, or a GET if body is nil.
func callStage(ctx context.Context, c *call, address, path string, body io.Reader) (*http.Response, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, usagef("listen %s: %w", address, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+net.JoinHostPort(host, port)+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
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
		defer answer.Body.Close()
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return nil, fmt.Errorf("%s answers %s: %s", request.URL, answer.Status, strings.TrimSpace(string(why)))
	}
	return answer, nil
}
