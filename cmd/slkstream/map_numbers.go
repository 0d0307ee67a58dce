package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// numbersAt returns the paths, as --vector-field takes them, of the lists of several numbers in a JSON record.
func numbersAt(value []byte) []string {
	var record any
	if json.Unmarshal(value, &record) != nil {
		return nil
	}
	found := map[string]bool{}
	findNumbers(record, "", found)
	return slices.Sorted(maps.Keys(found))
}

func findNumbers(value any, path string, found map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, below := range value {
			name = strings.ReplaceAll(name, ".", `\.`)
			if path != "" {
				name = path + "." + name
			}
			findNumbers(below, name, found)
		}
	case []any:
		if len(value) > 1 && !slices.ContainsFunc(value, func(x any) bool { _, isNumber := x.(float64); return !isNumber }) {
			found[path] = true
			return
		}
		for _, element := range value {
			if _, isObject := element.(map[string]any); isObject {
				findNumbers(element, path+"[]", found)
			}
		}
	}
}
