package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/web"
)

var mcpCommand = command{
	name:  "mcp",
	short: "let an assistant ask a running stage and teach it, over stdin and stdout (Model Context Protocol)",
	long: "mcp is started by an assistant, and serves to it what the API of the stage at --listen answers: names, examples,\n" +
		"groups of unknown items, reasons, similar items, previews; and teaching. An assistant that shall only look on is\n" +
		"given the token that reads, as --listen-token-file. Pictures and vectors in the records themselves are left out.",
	example: "  slkstream mcp --listen stage-1:8070 --listen-token-file token",
	run:     serveAssistant,
}

// tool is a call of the stage's API that an assistant may make.
type tool struct {
	name, title, description string
	input                    map[string]any // JSON Schema of its arguments
	path                     string
	reads                    bool

	posts bool
	query []string // arguments that stand in the URL
}

// tools makes the tools of the API's description: all that only asks, and teaching.
func tools() ([]tool, error) {
	type schema = map[string]any
	var api struct {
		Paths map[string]map[string]struct {
			Summary, Description string
			Parameters           []struct {
				Name, Description string
				Required          bool
				Schema            schema
			}
			RequestBody struct {
				Content map[string]struct{ Schema schema }
			}
		}
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(web.OpenAPI(), &api); err != nil {
		return nil, err
	}
	var all []tool
	for _, path := range slices.Sorted(maps.Keys(api.Paths)) {
		for method, call := range api.Paths[path] {
			reads := method == "get" || web.Asks(path)
			if path == "/api/openapi.json" || !reads && path != "/api/teach" {
				continue
			}
			input := call.RequestBody.Content["application/json"].Schema
			if input == nil {
				input = schema{"type": "object", "properties": schema{}}
			}
			t := tool{
				name: strings.ReplaceAll(strings.TrimPrefix(path, "/api/"), "/", "_"), title: call.Summary,
				description: strings.TrimSpace(call.Summary + ". " + call.Description),
				path:        path, reads: reads, posts: method == "post",
			}
			required, _ := input["required"].([]any)
			for _, p := range call.Parameters {
				if p.Name == "learn" { // it would write to the input topic
					continue
				}
				p.Schema["description"] = p.Description
				input["properties"].(schema)[p.Name] = p.Schema
				if t.query = append(t.query, p.Name); p.Required {
					required = append(required, p.Name)
				}
			}
			if required != nil {
				input["required"] = required
			}
			t.input = resolved(input, api.Components.Schemas).(schema)
			all = append(all, t)
		}
	}
	return all, nil
}

// resolved puts schemas in the place of references to them.
func resolved(part any, schemas map[string]any) any {
	switch p := part.(type) {
	case map[string]any:
		if name, is := p["$ref"].(string); is {
			return resolved(schemas[name[strings.LastIndexByte(name, '/')+1:]], schemas)
		}
		for key, value := range p {
			p[key] = resolved(value, schemas)
		}
	case []any:
		for i, value := range p {
			p[i] = resolved(value, schemas)
		}
	}
	return part
}

// request makes the path and the body of a call; nil is no body.
func (t *tool) request(arguments json.RawMessage) (path string, body any, err error) {
	given := map[string]any{}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return "", nil, fmt.Errorf("arguments of %s: %w", t.name, err)
		}
	}
	query := url.Values{}
	for _, name := range t.query {
		if value, is := given[name]; is {
			query.Set(name, fmt.Sprint(value))
			delete(given, name)
		}
	}
	if path = t.path; len(query) > 0 {
		path += "?" + query.Encode()
	}
	if t.posts {
		body = given
	}
	return path, body, nil
}
