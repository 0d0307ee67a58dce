package record

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/asyncapi.json anew")

// described are the records of our topics: the channel's setting, the message, what it holds, an example of
// docs/formats.md, and the struct of its value.
var described = []struct {
	channel, message, what, example string
	of                              reflect.Type
}{
	{"in", "in", "embeddings, in JSON; of other forms docs/formats.md", "record", reflect.TypeFor[Example]()},
	{"labels", "labels", "labelled examples; of rejections, names and resets docs/formats.md", "label", reflect.TypeFor[Example]()},
	{"out", "out", "one result for each embedding", "result", reflect.TypeFor[Result]()},
	{"now", "now", "first answers, before the episode closes", "", reflect.TypeFor[Result]()},
	{"corrections", "corrections", "new labels of items that have a result", "correction", reflect.TypeFor[Correction]()},
	{"episodes", "episodes", "one record an episode, and one where an identity is seen", "episode", reflect.TypeFor[Episode]()},
	{"episodes", "sightings", "", "sighting", reflect.TypeFor[Sighting]()},
	{"review", "review", "items whose label would teach most", "review", reflect.TypeFor[Review]()},
}

type jsonObject = map[string]any

// schemaOf is the JSON schema of a struct's JSON.
func schemaOf(fields []Field) jsonObject {
	properties, required := jsonObject{}, []string{}
	for i := range fields {
		f := &fields[i]
		s := jsonObject{}
		switch f.Kind {
		case Text:
			s["type"] = "string"
		case Number:
			s["type"] = "number"
		case Whole:
			s["type"] = "integer"
		case Truth:
			s["type"] = "boolean"
		case Time:
			s["type"], s["format"] = "string", "date-time"
		case Bytes:
			s["type"], s["contentEncoding"] = "string", "base64"
		case Floats:
			s["type"], s["items"] = "array", jsonObject{"type": "number"}
		case Object:
			s = schemaOf(f.Fields)
		case List:
			s["type"], s["items"] = "array", jsonObject{"type": "string"}
			if f.Fields != nil {
				s["items"] = schemaOf(f.Fields)
			}
		}
		if f.Doc != "" {
			s["description"] = f.Doc
		}
		if properties[f.Name] = s; !f.Optional {
			required = append(required, f.Name)
		}
	}
	return jsonObject{"type": "object", "properties": properties, "required": required}
}

// describe returns the AsyncAPI document of the topics.
func describe() jsonObject {
	channels, operations := jsonObject{}, jsonObject{}
	for _, d := range described {
		schema := schemaOf(fieldsOf(d.of))
		if d.of == reflect.TypeFor[Example]() { // its vector is written in a form of its own, and may be numbers
			schema["properties"].(jsonObject)["vector"] = jsonObject{
				"description": "numbers, or base64 of little-endian float32",
				"oneOf": []jsonObject{
					{"type": "array", "items": jsonObject{"type": "number"}},
					{"type": "string", "contentEncoding": "base64"},
				},
			}
			schema["required"] = []string{"vector"}
		}
		message := jsonObject{"contentType": "application/json", "payload": schema}
		if channel, known := channels[d.channel].(jsonObject); known {
			channel["messages"].(jsonObject)[d.message] = message
			continue
		}
		channels[d.channel] = jsonObject{
			"address": nil, "description": d.what + "; --" + d.channel + " names the topic",
			"messages": jsonObject{d.message: message},
		}
		action := "send"
		if d.channel == "in" || d.channel == "labels" {
			action = "receive"
		}
		operations[action+"-"+d.channel] = jsonObject{"action": action, "channel": jsonObject{"$ref": "#/channels/" + d.channel}}
	}
	return jsonObject{
		"asyncapi": "3.0.0", "info": jsonObject{
			"title": "slkstream", "version": "1", "description": "The topics of a stage. docs/formats.md lists the forms of embeddings.",
		},
		"defaultContentType": "application/json", "channels": channels, "operations": operations,
	}
}

// docs/asyncapi.json is made from the structs of the records, and the examples of docs/formats.md fit it.
func TestAsyncAPI(t *testing.T) {
	const path = "../../docs/asyncapi.json"
	want, err := json.MarshalIndent(describe(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("it is not up to date: go test ./internal/record -run TestAsyncAPI -update (%v)", err)
	}
	var document struct {
		Channels map[string]struct {
			Messages map[string]struct{ Payload jsonObject }
		}
	}
	if err := json.Unmarshal(want, &document); err != nil {
		t.Fatal(err)
	}
	for _, fault := range dangling(want) {
		t.Error(fault)
	}
	for right, wrong := range map[string]string{
		`"3.0.0"`: `"2.6.0"`, `"send"`: `"publish"`, `#/channels/out"`: `#/channels/results"`, `"channels": {`: `"channel": {`, `"title"`: `"name"`,
	} {
		if dangling(bytes.ReplaceAll(want, []byte(right), []byte(wrong))) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	found := examples(t, "formats.md")
	for _, d := range described {
		for _, text := range found[d.example] {
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatal(err)
			}
			for _, fault := range misfits(d.channel, document.Channels[d.channel].Messages[d.message].Payload, value) {
				t.Errorf("%s: %s", fault, text)
			}
		}
	}
	bad := jsonObject{"id": "a", "vector": 3., "confidence": "high"}
	if faults := misfits("out", document.Channels["out"].Messages["out"].Payload, bad); len(faults) < 3 {
		t.Errorf("a wrong result has the faults %v", faults)
	}
}

// dangling lists where a document is not as AsyncAPI 3 asks: what it must have, actions, and references to what is there.
func dangling(text []byte) (faults []string) {
	var document struct {
		AsyncAPI string
		Info     struct{ Title, Version string }
		Channels map[string]struct {
			Messages map[string]struct{ Payload jsonObject }
		}
		Operations map[string]struct {
			Action  string
			Channel struct {
				Ref string `json:"$ref"`
			}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return []string{err.Error()}
	}
	if document.AsyncAPI != "3.0.0" || document.Info.Title == "" || document.Info.Version == "" || len(document.Operations) == 0 {
		faults = append(faults, "its head lacks something")
	}
	for name, o := range document.Operations {
		channel, is := document.Channels[strings.TrimPrefix(o.Channel.Ref, "#/channels/")]
		if o.Action != "send" && o.Action != "receive" || !is || len(channel.Messages) == 0 {
			faults = append(faults, "operation "+name)
		}
	}
	return faults
}

// misfits lists where a value is not of a schema as describe makes them. Members that are not described are faults.
func misfits(at string, schema jsonObject, value any) (faults []string) {
	if one, is := schema["oneOf"].([]any); is {
		for _, s := range one {
			if misfits(at, s.(jsonObject), value) == nil {
				return nil
			}
		}
		return []string{at + " is of none of its kinds"}
	}
	kind := map[string]any{"string": "", "number": 0., "integer": 0., "boolean": true, "object": jsonObject{}, "array": []any{}}
	of, typed := schema["type"].(string)
	if typed && reflect.TypeOf(value) != reflect.TypeOf(kind[of]) {
		return []string{at + " is no " + of}
	}
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			faults = append(faults, misfits(at, schema["items"].(jsonObject), element)...)
		}
	case jsonObject:
		properties, closed := schema["properties"].(jsonObject)
		for name, member := range v {
			if s, is := properties[name].(jsonObject); is {
				faults = append(faults, misfits(at+"."+name, s, member)...)
			} else if closed {
				faults = append(faults, at+"."+name+" is not described")
			}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, has := v[name.(string)]; !has {
				faults = append(faults, at+"."+name.(string)+" is missing")
			}
		}
	}
	return faults
}
