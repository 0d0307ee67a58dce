package record

import (
	"strconv"
	"strings"
)

// ParseID parses the id of a result, TOPIC/PARTITION/OFFSET[/OBJECT]; without an object, Object is -1.
func ParseID(id string) (s Source, ok bool) {
	parts := strings.Split(id, "/")
	if len(parts) < 3 || len(parts) > 4 || parts[0] == "" {
		return s, false
	}
	n := [3]int64{2: -1}
	for i, text := range parts[1:] {
		bits := 31
		if i == 1 {
			bits = 63
		}
		v, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			return s, false
		}
		n[i] = int64(v)
	}
	return Source{Topic: parts[0], Partition: int32(n[0]), Offset: n[1], Object: int32(n[2])}, true
}
