//go:build mcp

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveAssistant serves the stage's API until the assistant closes stdin.
func serveAssistant(ctx context.Context, c *call) error {
	return serveTools(ctx, c, &mcp.StdioTransport{})
}

func serveTools(ctx context.Context, c *call, transport mcp.Transport) error {
	all, err := tools()
	if err != nil {
		return err
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "slkstream", Version: versionText()}, &mcp.ServerOptions{
		Instructions: "A stage that names what cameras and other sensors see. Ask state first. Teach only what the user says: " +
			"it counts for all that comes later, and the same id taught again is corrected.",
	})
	for i := range all {
		t := &all[i]
		never, replaces := false, !t.reads // the same id taught again replaces what was taught
		server.AddTool(&mcp.Tool{
			Name: t.name, Title: t.title, Description: t.description, InputSchema: t.input,
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: t.reads, DestructiveHint: &replaces, IdempotentHint: true, OpenWorldHint: &never,
			},
		}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			text, err := c.answerAssistant(ctx, t, r.Params.Arguments)
			if err != nil { // for the assistant, that it may try another way
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	}
	if err := server.Run(ctx, transport); !errors.Is(err, io.EOF) && ctx.Err() == nil {
		return err
	}
	return nil
}

// answerAssistant asks the stage, and returns its answer as JSON.
func (c *call) answerAssistant(ctx context.Context, t *tool, arguments json.RawMessage) (string, error) {
	path, body, err := t.request(arguments)
	if err != nil {
		return "", err
	}
	var answer any
	if err := askStage(ctx, c, c.Config.Listen.Address, path, body, &answer); err != nil {
		return "", err
	}
	if answer == nil {
		return "done", nil
	}
	text, err := json.Marshal(readable(answer))
	return string(text), err
}

// readable leaves out of an answer what an assistant cannot read, and pays for: vectors, and pictures that are in the
// answer itself.
func readable(part any) any {
	switch p := part.(type) {
	case map[string]any:
		for key, value := range p {
			text, _ := value.(string)
			if key == "vector" || strings.HasPrefix(text, "data:") {
				delete(p, key)
				continue
			}
			p[key] = readable(value)
		}
	case []any:
		for i, value := range p {
			p[i] = readable(value)
		}
	}
	return part
}
