package record

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/slkstream/slkstream/internal/form"
)

// form returns the format of a value: that of its content type, else of the setting, else the detected one.
// "" is an unknown format: raw numbers must be declared, because any bytes could be numbers.
func (d *Decoder) form(value []byte) string {
	switch t := d.envelope.contentType; {
	case form.OfType(t) != "":
		return form.OfType(t)
	case strings.HasSuffix(t, "+json"):
		return "json"
	case t == "application/octet-stream":
		if d.format == "f16" || d.format == "bf16" {
			return d.format
		}
		return "f32"
	}
	switch d.format {
	case "nv":
		if isObject(value) {
			return "json"
		}
		return "nv"
	case "cloudevents": // events in binary mode, found by their headers, may have any format
		if !d.envelope.within {
			return "cloudevents"
		}
	case form.Auto:
	default:
		return d.format
	}
	switch {
	case isObject(value), printable(value): // so that other text is rejected as invalid JSON
		return "json"
	case isFrame(value):
		return "nv"
	}
	return ""
}

// printable says whether the value is UTF-8 without control characters in its first bytes.
func printable(value []byte) bool {
	const enough = 256
	for _, c := range value[:min(len(value), enough)] {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(value)
}

// isObject says whether the value looks like a JSON object.
func isObject(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) >= 2 && value[0] == '{' && value[len(value)-1] == '}'
}

// mediaType returns a content type without its parameters, in lower case.
func mediaType(b []byte) string {
	t, _, _ := strings.Cut(string(b), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
