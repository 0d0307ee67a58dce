package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// ResultForm is the output format of results.
type ResultForm struct {
	// Append appends the value of a result's record. It is called from several goroutines.
	Append func(dst []byte, r *Result) []byte
	// ContentType is the record's content-type header; "": no header, as for the default format.
	ContentType string
	// Vector says that the format needs the item's vector in Result.Vector.
	Vector bool
}

// JSON returns the JSON of a result from the value that Append wrote: an event has it as its data.
func (f *ResultForm) JSON(value []byte) []byte {
	var event struct {
		Data json.RawMessage `json:"data"`
	}
	if f.ContentType != "" && json.Unmarshal(value, &event) == nil {
		return event.Data
	}
	return value
}

// ResultJSON returns the default format of results.
func ResultJSON() ResultForm { return ResultForm{Append: AppendResult} }

// ResultEvent returns the format of CloudEvents in structured mode, with the JSON of a result as data.
func ResultEvent() ResultForm {
	return ResultForm{Append: appendEvent, ContentType: "application/cloudevents+json"}
}

func appendEvent(dst []byte, r *Result) []byte {
	dst = append(dst, `{"specversion":"1.0","type":"slkstream.result","source":`...)
	dst = appendString(dst, "/"+r.Source.Topic+"/"+strconv.Itoa(int(r.Source.Partition)))
	dst = appendString(append(dst, `,"id":`...), r.ID)
	dst = appendString(append(dst, `,"subject":`...), r.Stream)
	dst = appendTime(append(dst, `,"time":`...), r.Time)
	dst = append(dst, `,"datacontenttype":"application/json","data":`...)
	return append(AppendResult(dst, r), '}')
}

// ResultTemplate returns a format from a JSON template. A string that is only "${name}" is replaced by
// the value of name, which may be a number, a list or an object. Inside another string, ${name} is
// replaced by the value as text. The names are the members of a result, and uuid (derived from the
// result's id, so a repeat has the same), vector (a list of numbers), vectorBase64, source.topic,
// source.partition, source.offset and result (the whole result, without its vector). An error names the
// faulty part of the template.
func ResultTemplate(template string) (ResultForm, error) {
	s := scanner{b: []byte(template)}
	if !s.pass(0) || !s.end() {
		return ResultForm{}, fmt.Errorf("out-format: %s", s.bad.Reason)
	}
	var parts []templatePart
	form := ResultForm{}
	rest := template
	for {
		before, after, found := strings.Cut(rest, "${")
		name, after, closed := strings.Cut(after, "}")
		switch _, known := templateNames[name]; {
		case !found:
			form.Append = func(dst []byte, r *Result) []byte {
				values := templateValues(r, form.Vector)
				for _, p := range parts {
					dst = p.append(append(dst, p.before...), values)
				}
				return append(dst, rest...)
			}
			return form, nil
		case !closed:
			return ResultForm{}, fmt.Errorf("out-format: ${ without }")
		case !known:
			return ResultForm{}, fmt.Errorf("out-format: ${%s} stands for nothing", name)
		}
		p := templatePart{before: before, name: name, inText: true}
		if strings.HasSuffix(before, `"`) && !strings.HasSuffix(before, `\"`) && strings.HasPrefix(after, `"`) {
			p.before, after, p.inText = before[:len(before)-1], after[1:], false
		}
		parts = append(parts, p)
		form.Vector = form.Vector || name == "vector" || name == "vectorBase64"
		rest = after
	}
}

// templatePart is literal text and the name behind it.
type templatePart struct {
	before, name string
	inText       bool // the name is inside a longer string
}

// append appends the value as JSON, or inside a string as its text.
func (p *templatePart) append(dst []byte, values map[string][]byte) []byte {
	value := values[p.name]
	if value == nil {
		value = []byte(templateNames[p.name])
	}
	if !p.inText {
		return append(dst, value...)
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	quoted := appendString(nil, text)
	return append(dst, quoted[1:len(quoted)-1]...)
}

// resultIDs is the name space of the UUIDs derived from results' ids.
var resultIDs = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/slkstream/slkstream/results"))

// templateNames holds the names in templates, with the JSON of those that a result may lack: its fields, and what is made
// from them.
var templateNames = func() map[string]string {
	names := map[string]string{"uuid": "", "vectorBase64": `""`, "result": ""}
	for _, f := range ResultFields {
		switch {
		case f.NoAvro: // of first answers
		case f.Kind == Object:
			for _, part := range f.Fields {
				names[f.Name+"."+part.Name] = ""
			}
		default:
			names[f.Name] = map[Kind]string{
				Text: `""`, Number: "0", Whole: "0", Truth: "false", List: "[]", JSON: "{}", Bytes: "[]",
			}[f.Kind]
		}
	}
	return names
}()

// templateValues returns the JSON of the names in templates: the members of a result, and those made from it.
func templateValues(r *Result, withVector bool) map[string][]byte {
	bare := *r
	bare.Vector = nil
	whole := AppendResult(nil, &bare)
	values := map[string][]byte{
		"result": whole, "uuid": appendString(nil, uuid.NewSHA1(resultIDs, []byte(r.ID)).String()),
	}
	s := scanner{b: whole}
	s.object(func(member []byte) (ok bool) {
		if string(member) == "source" {
			return s.object(func(part []byte) (ok bool) {
				values["source."+string(part)], ok = s.skip()
				return ok
			})
		}
		values[string(member)], ok = s.skip()
		return ok
	})
	if withVector {
		values["vector"] = appendJSON(nil, vectorOf(r.Vector))
		values["vectorBase64"] = appendJSON(nil, r.Vector)
	}
	return values
}
