package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const mask = "********"

// Secret is a text that fmt, slog and JSON print masked.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString masks %#v too.
func (s Secret) GoString() string { return s.String() }

// MarshalText masks the secret in JSON and in logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Bytes is a size, written as 64MiB, 2GB or a plain number of bytes.
type Bytes int64

var units = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

func (b Bytes) String() string {
	for _, u := range units {
		if int64(b) >= u.size && int64(b)%u.size == 0 && u.size > 1 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

func parseBytes(text string) (Bytes, error) {
	number, size := strings.TrimSpace(text), int64(1)
	for _, u := range units {
		if cut := len(number) - len(u.name); cut >= 0 && strings.EqualFold(number[cut:], u.name) {
			number, size = strings.TrimSpace(number[:cut]), u.size
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || v*float64(size) >= 1<<62 || v*float64(size) <= -1<<62 {
		return 0, fmt.Errorf("%q is not a size such as 64MiB", text)
	}
	return Bytes(v * float64(size)), nil
}

// Clusters is how many clusters to find, or Auto.
type Clusters int

// Auto lets the data decide the number of clusters.
const Auto Clusters = -1

func (c Clusters) String() string {
	if c == Auto {
		return "auto"
	}
	return strconv.Itoa(int(c))
}

func parseClusters(text string) (Clusters, error) {
	if text == "auto" {
		return Auto, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, notNumber(text, "whole number, nor auto", err)
	}
	if n < 0 {
		return 0, fmt.Errorf("%d is less than none", n)
	}
	return Clusters(n), nil
}

// parse parses a value of any kind that settings have, into a pointer to it.
func parse(raw []string, into any) (err error) {
	text := strings.Join(raw, ",")
	if _, isList := into.(*[]string); !isList && len(raw) > 1 {
		return fmt.Errorf("a list of %d values was given where one is meant", len(raw))
	}
	switch p := into.(type) {
	case *string:
		*p = text
	case *[]string:
		*p = raw
	case *bool:
		if *p, err = strconv.ParseBool(text); err != nil {
			err = fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		if *p, err = strconv.Atoi(text); err != nil {
			err = notNumber(text, "whole number", err)
		}
	case *uint64:
		if *p, err = strconv.ParseUint(text, 10, 64); err != nil {
			err = notNumber(text, "whole number that is not negative", err)
		}
	case *float64:
		if *p, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(*p) || math.IsInf(*p, 0) {
			err = notNumber(text, "number", err)
		}
	case *time.Duration:
		if text == "off" {
			*p = 0
		} else if *p, err = time.ParseDuration(text); err != nil {
			err = fmt.Errorf("%q is not a duration such as 500ms, 5s, 1h or off", text)
		}
	case *Bytes:
		*p, err = parseBytes(text)
	case *Clusters:
		*p, err = parseClusters(text)
	default:
		panic(fmt.Sprintf("a setting cannot be a %T", into))
	}
	return err
}

func notNumber(text, kind string, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%q is too large", text)
	}
	return fmt.Errorf("%q is not a %s", text, kind)
}

// format formats a value so that parse accepts it.
func format(v any) string {
	switch v := v.(type) {
	case []string:
		return strings.Join(v, ",")
	case time.Duration:
		return formatDuration(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// formatDuration omits the zero minutes and seconds that time.Duration prints: 1h rather than 1h0m0s.
func formatDuration(d time.Duration) string {
	if d == 0 {
		return "off"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func kindOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[Bytes]():
		return "size"
	case reflect.TypeFor[Clusters]():
		return "whole number or auto"
	}
	return map[reflect.Kind]string{
		reflect.Bool: "on/off", reflect.Int: "whole number", reflect.Uint64: "whole number",
		reflect.Float64: "number", reflect.Slice: "list", reflect.String: "text",
	}[t.Kind()]
}
