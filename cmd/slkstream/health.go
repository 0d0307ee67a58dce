package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

var healthCommand = command{
	name:  "health",
	short: "ask a running stage whether it is alive; for containers without a shell",
	long:  "health asks the stage that listens on --listen of this machine, and exits with 0 if it is alive.",
	run: func(ctx context.Context, c *call) error {
		return askStage(ctx, c, c.Config.Listen.Address, "/livez", nil, nil)
	},
}

// askStage asks the stage that listens at address: by a POST of the question as JSON, or a GET if it is
// nil. It decodes the reply into answer, unless that is nil.
func askStage(ctx context.Context, c *call, address, path string, question, answer any) error {
	if address == "" {
		return usagef("listen is empty: give the address of a running stage, --listen HOST:PORT")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("listen %s: %w", address, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	method, body := http.MethodGet, new(bytes.Buffer)
	if question != nil {
		method = http.MethodPost
		if err := json.NewEncoder(body).Encode(question); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, schemeOf(&c.Config.Listen)+net.JoinHostPort(host, port)+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token := string(c.Config.Listen.Token); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	trust, err := trusting(&c.Config.Listen)
	if err != nil {
		return err
	}
	patience := 3 * time.Second
	if question != nil {
		patience = 15 * time.Second // a stage thinks about one for up to ten
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: trust}}
	defer client.CloseIdleConnections()
	reply, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("no stage answers at %s (--listen): %w", address, errors.Unwrap(err))
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK && reply.StatusCode != http.StatusNoContent {
		why, _ := io.ReadAll(io.LimitReader(reply.Body, 1<<10))
		return fmt.Errorf("%s answers %s: %s", request.URL, reply.Status, strings.TrimSpace(string(why)))
	}
	if answer == nil || reply.StatusCode == http.StatusNoContent {
		return nil
	}
	const longest = 64 << 20 // of a stage's answer: similar items, with their vectors
	if err := json.NewDecoder(io.LimitReader(reply.Body, longest)).Decode(answer); err != nil {
		return fmt.Errorf("%s: %w", request.URL, err)
	}
	return nil
}
