package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// sizeOfFile bounds a configuration file: a larger file cannot be one.
const sizeOfFile = 1 << 20

// entry is one key of a configuration file.
type entry struct {
	values []string
	line   int
}

// readFile reads the file that a setting names: one YAML mapping from known names to values. Values stay
// texts, so that a setting is parsed in the same way from each layer.
func readFile(name, setting string, known []string) (map[string]entry, Faults) {
	fail := func(line int, format string, args ...any) Fault {
		at := name
		if line > 0 {
			at = fmt.Sprintf("%s:%d", name, line)
		}
		return Fault{Problem: at + ": " + fmt.Sprintf(format, args...)}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, Faults{{Problem: fmt.Sprintf("%v (--%s, %s)", err, setting, Setting{Name: setting}.Variable())}}
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, sizeOfFile+1))
	if err != nil {
		return nil, Faults{{Problem: fmt.Sprintf("%v (--%s, %s)", err, setting, Setting{Name: setting}.Variable())}}
	}
	if len(content) > sizeOfFile {
		return nil, Faults{fail(0, "is above %d bytes: not a file of settings", sizeOfFile)}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, Faults{fail(0, "%v", err)}
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, Faults{fail(0, "holds more than one document")}
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, Faults{fail(root.Line, "must be a mapping from names of settings to values")}
	}
	entries := map[string]entry{}
	var faults Faults
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if !slices.Contains(known, key.Value) {
			hint := ""
			if instead := removed(key.Value); instead != "" {
				hint = ": " + instead
			} else if near := nearest(key.Value, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			faults = append(faults, fail(key.Line, "unknown key %q%s", key.Value, hint))
			continue
		}
		if earlier, twice := entries[key.Value]; twice {
			faults = append(faults, fail(key.Line, "%q is given a second time, first in line %d", key.Value,
				earlier.line))
			continue
		}
		if key.Value == "fields" && value.Kind == yaml.MappingNode {
			value = pairs(value)
		}
		values, ok := scalars(value)
		if !ok {
			faults = append(faults, fail(value.Line, "%q must be a value or a list of values", key.Value))
			continue
		}
		entries[key.Value] = entry{values, key.Line}
	}
	return entries, faults
}

// scalars returns a scalar, or a list of scalars, as written.
func scalars(node *yaml.Node) ([]string, bool) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return []string{}, true
	case node.Kind == yaml.ScalarNode:
		return []string{node.Value}, true
	case node.Kind != yaml.SequenceNode:
		return nil, false
	}
	values := make([]string, len(node.Content))
	for i, element := range node.Content {
		if element.Kind != yaml.ScalarNode {
			return nil, false
		}
		values[i] = element.Value
	}
	return values, true
}

// pairs turns a mapping into a list of NAME=VALUE.
func pairs(mapping *yaml.Node) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Line: mapping.Line}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		element := *mapping.Content[i+1]
		element.Value = mapping.Content[i].Value + "=" + element.Value
		list.Content = append(list.Content, &element)
	}
	return list
}
