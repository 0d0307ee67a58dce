// Package form lists the forms that a record's value may have. The setting --format, the decoder and the table in
// docs/formats.md follow from it.
package form

import "slices"

// Form is a form of a value.
type Form struct {
	Name  string   // for --format
	Types []string // media types of the content-type header
	What  string   // for people
}

// Auto is the setting by which each value's form is detected.
const Auto = "auto"

// All lists the forms, as docs/formats.md does.
var All = []Form{
	{Auto, nil, "by its first bytes: JSON, or `nv.Frame`"},
	{"json", []string{"application/json", "text/json"}, "JSON"},
	{"f32", []string{"application/x-f32"}, "raw little-endian float32"},
	{"f16", []string{"application/x-f16"}, "raw little-endian float16"},
	{"bf16", []string{"application/x-bf16"}, "raw little-endian bfloat16"},
	{
		"nv",
		[]string{"application/protobuf", "application/x-protobuf", "application/vnd.google.protobuf"},
		"`nv.Frame`, protobuf",
	},
	{"cloudevents", []string{"application/cloudevents+json"}, "CloudEvent, structured mode"},
}

// Names lists the names of all forms.
func Names() []string {
	var names []string
	for _, f := range All {
		names = append(names, f.Name)
	}
	return names
}

// OfType returns the name of the form that has a media type; "" if none has.
func OfType(media string) string {
	at := slices.IndexFunc(All, func(f Form) bool { return slices.Contains(f.Types, media) })
	if at < 0 {
		return ""
	}
	return All[at].Name
}
