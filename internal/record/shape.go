package record

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// Kind is the kind of a field's value.
type Kind int

// The kinds, by the type of the struct's field.
const (
	Text   Kind = iota // string
	Number             // float64: a score, of six decimals
	Whole              // integers
	Truth              // bool, *bool
	Time               // time.Time
	JSON               // json.RawMessage
	Bytes              // []byte, in JSON as base64: of a vector little-endian float32
	Floats             // []float32
	List               // of structs, or of texts, where Fields is nil
	Object             // a struct
)

// Field is a field of a record, as its struct declares it.
type Field struct {
	Name     string
	Kind     Kind
	Optional bool // left out of JSON if empty
	NoAvro   bool
	Column   bool // also a column of labelled files
	Doc      string
	Fields   []Field // of an Object, or of the elements of a List
	Index    int     // of the struct's field

	opening string  // of its member in JSON: ,"NAME":
	offset  uintptr // in the struct
	size    uintptr // of a whole number, and of the elements of a list
}

// fieldsOf returns the fields of a struct that its JSON has.
func fieldsOf(t reflect.Type) []Field {
	var fields []Field
	for i := range t.NumField() {
		of := t.Field(i)
		if of.Anonymous {
			embedded := fieldsOf(of.Type)
			for j := range embedded {
				embedded[j].Index = -1 // described, and not reached by one index
			}
			fields = append(fields, embedded...)
			continue
		}
		name, options, _ := strings.Cut(of.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		f := Field{
			Name: name, Optional: options != "", NoAvro: of.Tag.Get("avro") == "-", Column: of.Tag.Get("file") == "column",
			Doc: of.Tag.Get("doc"), Index: i, opening: "," + strconv.Quote(name) + ":",
			offset: of.Offset, size: of.Type.Size(),
		}
		if of.Type.Kind() == reflect.Slice {
			f.size = of.Type.Elem().Size()
		}
		f.Kind, f.Fields = kindOf(of.Type)
		fields = append(fields, f)
	}
	return fields
}

func kindOf(t reflect.Type) (Kind, []Field) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return Time, nil
	case reflect.TypeFor[json.RawMessage]():
		return JSON, nil
	case reflect.TypeFor[[]byte]():
		return Bytes, nil
	case reflect.TypeFor[[]float32]():
		return Floats, nil
	case reflect.TypeFor[[]string]():
		return List, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.Struct:
		return Object, fieldsOf(t)
	case reflect.Slice:
		return List, fieldsOf(t.Elem())
	case reflect.Bool:
		return Truth, nil
	case reflect.Float64:
		return Number, nil
	case reflect.String:
		return Text, nil
	}
	return Whole, nil
}

// appendFields appends the JSON of the struct at p. It reads fields by their offsets, because reflection takes longer.
func appendFields(dst []byte, fields []Field, p unsafe.Pointer) []byte {
	from := len(dst)
	for i := range fields {
		f := &fields[i]
		at := unsafe.Add(p, f.offset)
		if f.Optional && f.empty(at) {
			continue
		}
		dst = append(dst, f.opening...)
		switch f.Kind {
		case Text:
			dst = appendString(dst, *(*string)(at))
		case Number:
			dst = appendScore(dst, *(*float64)(at))
		case Whole:
			dst = strconv.AppendInt(dst, f.whole(at), 10)
		case Truth:
			truth := (*bool)(at)
			if f.Optional {
				truth = *(**bool)(at)
			}
			dst = strconv.AppendBool(dst, *truth)
		case Time:
			dst = appendTime(dst, *(*time.Time)(at))
		case JSON:
			dst = append(dst, *(*json.RawMessage)(at)...)
		case Bytes:
			dst = append(base64.StdEncoding.AppendEncode(append(dst, '"'), *(*[]byte)(at)), '"')
		case Object:
			dst = appendFields(dst, f.Fields, at)
		case List:
			opening, list := byte('['), *(*[]struct{})(at)
			for i := range list {
				element := unsafe.Add(unsafe.Pointer(unsafe.SliceData(list)), uintptr(i)*f.size)
				dst, opening = appendFields(append(dst, opening), f.Fields, element), ','
			}
			dst = append(dst, ']')
		}
	}
	dst[from] = '{' // instead of the first comma
	return append(dst, '}')
}

// empty says whether the value at p, of an optional field, is left out.
func (f *Field) empty(p unsafe.Pointer) bool {
	switch f.Kind {
	case Number:
		return *(*float64)(p) == 0
	case Whole:
		return f.whole(p) == 0
	case Truth:
		return *(**bool)(p) == nil
	case Text:
		return *(*string)(p) == ""
	}
	return len(*(*[]struct{})(p)) == 0
}

func (f *Field) whole(p unsafe.Pointer) int64 {
	if f.size == 4 {
		return int64(*(*int32)(p))
	}
	return *(*int64)(p)
}

// Column returns the value of a field that is a column: a string, a float64 or a bool.
func (r *Result) Column(f *Field) any {
	switch v := reflect.ValueOf(r).Elem().Field(f.Index); f.Kind {
	case Number:
		return v.Float()
	case Truth:
		return v.Bool()
	default:
		return v.String()
	}
}

// Columns are the fields of a result that labelled files have as columns.
func Columns() []Field {
	return slices.DeleteFunc(slices.Clone(ResultFields), func(f Field) bool { return !f.Column })
}
