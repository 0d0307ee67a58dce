package record

import (
	"encoding/base64"
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
	var parts []templatePart
	s := scanner{b: []byte(template)}
	if !s.pass(0) || !s.end() {
		return ResultForm{}, fmt.Errorf("out-format: %s", s.bad.Reason)
	}
	form := ResultForm{}
	rest := template
	for rest != "" {
		i := strings.Index(rest, "${")
		if i < 0 {
			parts = append(parts, templatePart{text: rest})
			break
		}
		end := strings.IndexByte(rest[i:], '}')
		if end < 0 {
			return ResultForm{}, fmt.Errorf("out-format: ${ without }")
		}
		name := rest[i+2 : i+end]
		field := templateFields[name]
		if field == nil {
			return ResultForm{}, fmt.Errorf("out-format: ${%s} stands for nothing", name)
		}
		quoted := strings.HasSuffix(rest[:i], `"`) && !strings.HasSuffix(rest[:i], `\"`)
		whole := quoted && strings.HasPrefix(rest[i+end+1:], `"`)
		before, after := rest[:i], rest[i+end+1:]
		if whole {
			before, after = before[:len(before)-1], after[1:]
		}
		parts = append(parts, templatePart{text: before}, templatePart{field: field, inText: !whole})
		form.Vector = form.Vector || name == "vector" || name == "vectorBase64"
		rest = after
	}
	form.Append = func(dst []byte, r *Result) []byte {
		for i := range parts {
			p := &parts[i]
			switch {
			case p.field == nil:
				dst = append(dst, p.text...)
			case p.inText:
				dst = appendInText(dst, p.field(nil, r))
			default:
				dst = p.field(dst, r)
			}
		}
		return dst
	}
	return form, nil
}

// templatePart is literal text or a field.
type templatePart struct {
	text   string
	field  templateField
	inText bool // the field is inside a longer string
}

// templateField appends the value of a name as JSON.
type templateField func(dst []byte, r *Result) []byte

// resultIDs is the name space of the UUIDs derived from results' ids.
var resultIDs = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/slkstream/slkstream/results"))

var templateFields = map[string]templateField{
	"id": func(dst []byte, r *Result) []byte { return appendString(dst, r.ID) },
	"uuid": func(dst []byte, r *Result) []byte {
		return appendString(dst, uuid.NewSHA1(resultIDs, []byte(r.ID)).String())
	},
	"replayOf":   func(dst []byte, r *Result) []byte { return appendString(dst, r.ReplayOf) },
	"itemId":     func(dst []byte, r *Result) []byte { return appendString(dst, r.ItemID) },
	"stream":     func(dst []byte, r *Result) []byte { return appendString(dst, r.Stream) },
	"episode":    func(dst []byte, r *Result) []byte { return strconv.AppendInt(dst, r.Episode, 10) },
	"label":      func(dst []byte, r *Result) []byte { return appendString(dst, r.Label) },
	"confidence": func(dst []byte, r *Result) []byte { return appendScore(dst, r.Confidence) },
	"sure": func(dst []byte, r *Result) []byte {
		return strconv.AppendBool(dst, r.Sure != nil && *r.Sure)
	},
	"calibrated":   func(dst []byte, r *Result) []byte { return strconv.AppendBool(dst, r.Calibrated) },
	"unknown":      func(dst []byte, r *Result) []byte { return strconv.AppendBool(dst, r.Unknown) },
	"unknownScore": func(dst []byte, r *Result) []byte { return appendScore(dst, r.UnknownScore) },
	"time":         func(dst []byte, r *Result) []byte { return appendTime(dst, r.Time) },
	"model":        func(dst []byte, r *Result) []byte { return appendString(dst, r.Model) },
	"alternatives": func(dst []byte, r *Result) []byte {
		if len(r.Alternatives) == 0 {
			return append(dst, "[]"...)
		}
		return appendJSON(dst, r.Alternatives)
	},
	"attributes": func(dst []byte, r *Result) []byte {
		if len(r.Attributes) == 0 {
			return append(dst, "{}"...)
		}
		return append(dst, r.Attributes...)
	},
	"vector": appendVectorNumbers,
	"vectorBase64": func(dst []byte, r *Result) []byte {
		return appendString(dst, base64.StdEncoding.EncodeToString(r.Vector))
	},
	"source.topic": func(dst []byte, r *Result) []byte { return appendString(dst, r.Source.Topic) },
	"source.partition": func(dst []byte, r *Result) []byte {
		return strconv.AppendInt(dst,
			int64(r.Source.Partition), 10)
	},
	"source.offset": func(dst []byte, r *Result) []byte {
		return strconv.AppendInt(dst, r.Source.Offset,
			10)
	},
	"result": func(dst []byte, r *Result) []byte {
		bare := *r
		bare.Vector = nil
		return AppendResult(dst, &bare)
	},
}

func appendVectorNumbers(dst []byte, r *Result) []byte {
	dst = append(dst, '[')
	for i, x := range VectorOf(r.Vector) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
	}
	return append(dst, ']')
}

// appendInText appends a JSON value inside a string: a string's content, or the JSON of any other
// value, escaped.
func appendInText(dst, value []byte) []byte {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	quoted := appendString(nil, text)
	return append(dst, quoted[1:len(quoted)-1]...)
}
