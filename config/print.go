package config

import (
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Write prints the configuration as a file for --config, with each setting's help and the origin of its
// value. Settings left to the preset and empty texts are commented out. preset returns the value that
// replaces a setting left to the preset.
func (c *Config) Write(w io.Writer, preset func(name string) string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# The effective configuration of slkstream %s.\n", c.command)
	section := ""
	for _, s := range c.Settings() {
		if s.Name == "config" {
			continue
		}
		if s.Section != section {
			section = s.Section
			fmt.Fprintf(&text, "\n# --- %s\n", section)
		}
		fmt.Fprintf(&text, "\n# %s%s\n", s.Help, inBrackets(s.Bound()))
		line, from := s.line(), c.Origin(s.Name).String()
		switch {
		case s.Value() == "" && preset(s.Name) != "":
			line, from = "# "+s.Name+": "+preset(s.Name), "by the preset"
		case s.Value() == "":
			line = "# " + line
		}
		fmt.Fprintf(&text, "%-40s # %s\n", line, from)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// line returns the setting as a line of YAML.
func (s Setting) line() string {
	if s.Kind() != "list" {
		return strings.TrimRight(s.Name+": "+scalar(s.Value()), " ")
	}
	values := s.Values()
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = scalar(v)
	}
	return s.Name + ": [" + strings.Join(quoted, ", ") + "]"
}

// scalar quotes a value that YAML would not read back as the same text. Types do not matter, as every value
// is read as text, so numbers need no quotes.
func scalar(value string) string {
	var node yaml.Node
	if value == "" || yaml.Unmarshal([]byte("["+value+"]"), &node) == nil {
		if list := node.Content; value == "" || len(list) == 1 && len(list[0].Content) == 1 &&
			list[0].Content[0].Kind == yaml.ScalarNode && list[0].Content[0].Value == value {
			return value
		}
	}
	quoted, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Style: yaml.DoubleQuotedStyle, Value: value})
	if err != nil {
		return fmt.Sprintf("%q", value)
	}
	return strings.TrimSpace(string(quoted))
}
