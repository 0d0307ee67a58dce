package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// sizeOfFile bounds a configuration file: a larger file cannot be one.
const sizeOfFile = 1 << 20

// readFile reads the file that a setting names: one YAML mapping from known names to values. Values stay
// texts, so that a setting is parsed in the same way from each layer.
func readFile(name, setting string, known []string) (layer, Faults) {
	where := func(line int) string { return fmt.Sprintf("%s:%d", name, line) }
	refuse := func(at, format string, args ...any) Faults {
		return Faults{{Problem: at + ": " + fmt.Sprintf(format, args...)}}
	}
	content, err := readAtMost(name, sizeOfFile+1)
	if err != nil {
		return nil, Faults{{Problem: fmt.Sprintf("%v (--%s, %s)", err, setting, Setting{Name: setting}.Variable())}}
	}
	if len(content) > sizeOfFile {
		return nil, refuse(name, "is above %d bytes: not a file of settings", sizeOfFile)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, refuse(name, "%v", err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, refuse(name, "holds more than one document")
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, refuse(where(root.Line), "must be a mapping from names of settings to values")
	}
	found := layer{}
	var faults Faults
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		at := where(key.Line)
		if !slices.Contains(known, key.Value) {
			hint := ""
			if near := nearest(key.Value, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			faults = append(faults, refuse(at, "unknown key %q%s", key.Value, hint)...)
			continue
		}
		if earlier, twice := found[key.Value]; twice {
			faults = append(faults, refuse(at, "%q is given a second time, first in line %s", key.Value,
				strings.TrimPrefix(earlier.origin.Where, name+":"))...)
			continue
		}
		if (key.Value == "fields" || key.Value == "support-fields") && value.Kind == yaml.MappingNode {
			value = pairs(value)
		}
		values, ok := scalars(value)
		if !ok {
			faults = append(faults, refuse(where(value.Line), "%q must be a value or a list of values", key.Value)...)
			continue
		}
		found[key.Value] = given{values, Origin{Layer: "file", Where: at}}
	}
	return found, faults
}

// readAtMost reads the beginning of a file.
func readAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// scalars returns a scalar, or a list of scalars, as written.
func scalars(node *yaml.Node) (values []string, ok bool) {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil, true
	}
	if node.Decode(&values) == nil {
		return values, true
	}
	var value string
	err := node.Decode(&value)
	return []string{value}, err == nil
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
