package registry

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/avro"
)

// avroJSON converts an Avro value to JSON: records and maps become objects, a union the value that it holds,
// bytes base64, times RFC 3339.
func avroJSON(schema *avro.Schema, payload []byte) ([]byte, error) {
	var value any
	rest, err := schema.Decode(payload, &value)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes are left over", len(rest))
	}
	return appendValue(make([]byte, 0, 2*len(payload)), value)
}

func appendValue(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float32:
		return appendFloat(dst, float64(v), 32), nil
	case float64:
		return appendFloat(dst, v, 64), nil
	case []byte:
		dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v)
		return append(dst, '"'), nil
	case time.Time:
		return append(v.UTC().AppendFormat(append(dst, '"'), time.RFC3339Nano), '"'), nil
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendValue(dst, element); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendJSON(dst, name); err != nil {
				return nil, err
			}
			if dst, err = appendValue(append(dst, ':'), v[name]); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	}
	return appendJSON(dst, value)
}

// appendFloat appends a number. JSON has no NaN or infinity: they are written as words, which the decoder of
// vectors rejects with a clear message.
func appendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, "NaN"...)
	case math.IsInf(x, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(x, -1):
		return append(dst, "-Infinity"...)
	}
	return strconv.AppendFloat(dst, x, 'g', -1, bits)
}

func appendJSON(dst []byte, value any) ([]byte, error) {
	b, err := json.Marshal(value)
	return append(dst, b...), err
}
