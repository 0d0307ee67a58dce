//go:build mcp

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/web"
)

// An assistant that speaks the protocol over two pipes sees the tools, asks the page of a stage, and is told why a
// question is not answered. Closing its end ends the command without an error.
func TestAssistantAsksAStage(t *testing.T) {
	store := recent.New(1 << 20)
	store.Open("in/0").Add(recent.NewBlock([]recent.Item{
		{ID: "in/0/1", Name: "parcel", Label: "anna"}, {ID: "in/0/2", Name: "letter", Label: "anna"},
	}, func(i int) []float32 { return []float32{1, float32(i)} }))
	page := web.New(web.Options{Recent: store}).Handler()
	taught := make(chan string, 1)
	stage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/teach":
		case "/api/names":
			_, _ = io.WriteString(w, `{"labels":["anna"],"classes":[{"class":"anna","image":"data:image/png;base64,AAAA"}]}`)
			return
		default:
			page.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body) // what is short of a body is not the JSON that is expected below
		taught <- r.Header.Get("Authorization") + " " + strings.TrimSpace(string(body))
		w.WriteHeader(http.StatusNoContent)
	}))
	defer stage.Close()
	c := &call{Config: &config.Config{}}
	c.Config.Listen.Address, c.Config.Listen.Token = strings.TrimPrefix(stage.URL, "http://"), "secret"
	in, asks := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveTools(t.Context(), c, &mcp.IOTransport{Reader: in, Writer: out}) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: answers, Writer: asks}, nil)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := session.ListTools(t.Context(), nil)
	if err != nil || len(listed.Tools) != 10 {
		t.Fatalf("%v, %v", listed, err)
	}
	for _, tool := range listed.Tools {
		if reads := tool.Name != "teach"; tool.Annotations.ReadOnlyHint != reads || *tool.Annotations.DestructiveHint == reads {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
	}
	ask := func(name string, arguments map[string]any) (string, bool) {
		t.Helper()
		r, err := session.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return r.Content[0].(*mcp.TextContent).Text, r.IsError
	}
	text, failed := ask("similar", map[string]any{"id": "parcel"})
	var similar web.SimilarView
	if err := json.Unmarshal([]byte(text), &similar); err != nil || failed || len(similar.Items) != 1 ||
		similar.Items[0].ID != "letter" || similar.Item.Vector != "" {
		t.Errorf("%s: %v", text, err)
	}
	if text, failed = ask("similar", map[string]any{"id": "nothing"}); !failed || !strings.Contains(text, "not among the recent") {
		t.Error(text)
	}
	if text, failed = ask("names", nil); failed || text != `{"classes":[{"class":"anna"}],"labels":["anna"]}` {
		t.Error(text)
	}
	if text, failed = ask("teach", map[string]any{"id": "letter", "label": "kim"}); failed || text != "done" {
		t.Error(text)
	}
	if got := <-taught; got != `Bearer secret {"id":"letter","label":"kim"}` {
		t.Error(got)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
