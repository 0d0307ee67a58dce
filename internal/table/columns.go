package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Columns names the columns of a file: of Parquet, Arrow and CSV, arrays of .npz, paths in JSON Lines. ""
// means the usual names. Vector may also be the prefix of numbered columns, one per dimension.
type Columns struct{ Vector, ID, Label string }

// Usual names, for columns that are not named.
var (
	vectorNames = []string{"vector", "embedding", "vectors", "embeddings", "features"}
	idNames     = []string{"id", "ids"}
	labelNames  = []string{"label", "labels"}
)

func (c Columns) vectors() []string { return named(c.Vector, vectorNames) }
func (c Columns) ids() []string     { return named(c.ID, idNames) }
func (c Columns) labels() []string  { return named(c.Label, labelNames) }

func named(name string, usual []string) []string {
	if name != "" {
		return []string{name}
	}
	return usual
}

// find returns the index in has of the first of names that occurs there; -1 if none does.
func find(has, names []string) int {
	for _, name := range names {
		if at := slices.Index(has, name); at >= 0 {
			return at
		}
	}
	return -1
}

// layout says which columns hold the vector, the id and the label.
type layout struct {
	vector    []int // one of whole vectors, or one per dimension
	id, label int   // -1: none
}

// lay finds the columns among those of a file. A column that was named but is missing is an error.
func (c Columns) lay(has []string) (layout, error) {
	l := layout{id: find(has, c.ids()), label: find(has, c.labels())}
	for _, given := range []struct {
		name string
		at   int
	}{{c.ID, l.id}, {c.Label, l.label}} {
		if given.name != "" && given.at < 0 {
			return l, fmt.Errorf("%w: no column %s among %s", ErrFormat, given.name, listed(has))
		}
	}
	if at := find(has, c.vectors()); at >= 0 {
		l.vector = []int{at}
		return l, nil
	}
	var err error
	l.vector, err = numbered(has, c.Vector)
	return l, err
}

var numberedName = regexp.MustCompile(`^(.*?)[_.\[-]?([0-9]{1,6})\]?$`)

// numbered returns the columns NAME0, NAME1, ... or NAME1, NAME2, ... in the order of their numbers.
func numbered(has []string, wanted string) ([]int, error) {
	groups := map[string]map[int]int{}
	for at, name := range has {
		m := numberedName.FindStringSubmatch(name)
		if m == nil || wanted != "" && m[1] != strings.TrimRight(wanted, "_.[-") {
			continue
		}
		if groups[m[1]] == nil {
			groups[m[1]] = map[int]int{}
		}
		number, _ := strconv.Atoi(m[2])
		groups[m[1]][number] = at
	}
	var found []int
	var names []string
	for name, group := range groups {
		first := 0
		if _, zero := group[0]; !zero {
			first = 1
		}
		columns := make([]int, 0, len(group))
		for number := first; len(columns) < len(group); number++ {
			at, there := group[number]
			if !there {
				break
			}
			columns = append(columns, at)
		}
		if len(columns) == len(group) && len(columns) > 1 {
			found, names = columns, append(names, name)
		}
	}
	switch {
	case len(names) == 1:
		return found, nil
	case len(names) > 1:
		slices.Sort(names)
		return nil, fmt.Errorf("%w: numbered columns %s: say which are the vector with --vector-field", ErrFormat, listed(names))
	case wanted != "":
		return nil, fmt.Errorf("%w: no column %s among %s, nor %s0, %s1 and so on", ErrFormat, wanted, listed(has), wanted, wanted)
	}
	return nil, fmt.Errorf("%w: no column named one of %v among %s, nor numbered ones: name it with --vector-field", ErrFormat,
		vectorNames, listed(has))
}

func listed(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// bytesVector appends a vector stored in one value: little-endian float32, or a text of numbers. A float32 may
// begin with the byte of "[", but one that ends with that of "]" is beyond 1e17.
func bytesVector(vector []float32, value []byte) ([]float32, error) {
	if text := strings.TrimSpace(string(value)); strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return textVector(vector, text)
	}
	if len(value) == 0 || len(value)%4 != 0 {
		return vector, badRow("%d bytes are no vector of float32 (4 bytes a number, little-endian)", len(value))
	}
	for i := 0; i < len(value); i += 4 {
		vector = append(vector, math.Float32frombits(binary.LittleEndian.Uint32(value[i:])))
	}
	return vector, nil
}

// textVector appends the numbers of a text such as [0.1, 0.2] or 0.1 0.2.
func textVector(vector []float32, text string) ([]float32, error) {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", ;\t\n", r) }) {
		x, err := strconv.ParseFloat(part, 32)
		if err != nil {
			return vector, badRow("%.40q is no number", part)
		}
		vector = append(vector, float32(x))
	}
	return vector, nil
}

// badRow makes the fault of a row that can be left out.
func badRow(format string, args ...any) error {
	return &BadRow{Err: fmt.Errorf(format, args...)}
}
