package backfill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// otherVersion stands for settings that only one of two plans has.
const otherVersion = "another version's settings"

// differences names the settings of two plans that differ, with both values.
func differences(path string, was, is json.RawMessage) []string {
	var before, now map[string]json.RawMessage
	if was == nil || is == nil {
		return []string{otherVersion}
	}
	if json.Unmarshal(was, &before) != nil || json.Unmarshal(is, &now) != nil {
		if path == "support" { // a hash
			return []string{"the examples of support are others"}
		}
		name := settingOf(path)
		return []string{fmt.Sprintf("%s was %s and is %s", name, planned(name, was), planned(name, is))}
	}
	keys := map[string]json.RawMessage{}
	maps.Copy(keys, before)
	maps.Copy(keys, now)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if was, is := before[key], now[key]; !bytes.Equal(was, is) {
			all = append(all, differences(strings.Trim(path+"."+key, "."), was, is)...)
		}
	}
	return all
}

// settingOf returns the setting that stands at a path of a plan: its last name, in the spelling of settings,
// unless the setting is called otherwise.
func settingOf(path string) string {
	switch path {
	case "limits.Size":
		return "episode-size"
	case "limits.Age":
		return "episode-age"
	case "limits.Idle":
		return "episode-idle"
	case "limits.Memory":
		return "max-memory"
	}
	if field, is := strings.CutPrefix(path, "decode.Paths."); is {
		return strings.ToLower(field) + "-field"
	}
	var name strings.Builder
	for i, r := range path[strings.LastIndexByte(path, '.')+1:] {
		if unicode.IsUpper(r) && i > 0 {
			name.WriteByte('-')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// planned returns the value of a setting in a plan, in which durations are nanoseconds.
func planned(name string, value json.RawMessage) string {
	if name == "episode-age" || name == "episode-idle" {
		if length, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			return time.Duration(length).String()
		}
	}
	return string(value)
}
