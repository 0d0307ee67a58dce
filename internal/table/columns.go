package table

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slkstream/slkstream/internal/record"
)

// Reading says how a file is read.
type Reading struct {
	// Fields are the columns of the row's fields: of Parquet, Arrow and CSV, arrays of .npz, paths in JSON Lines. "" is a
	// field's usual name, record.Nowhere none. Vector may also begin the names of columns of one dimension each.
	Fields record.Paths
	// Usual reads a file by the usual names if it has no vector where Fields says: it may not be of the same program.
	Usual bool
	// Keep gives rows the values of the other columns, as Row.Kept; not of .npy and .npz.
	Keep bool
}

// rowField is a field of a row: its setting, its usual columns and how it is set.
type rowField struct {
	name  string
	path  func(*record.Paths) string
	usual []string
	set   func(*Row, string) error
}

// rowFields lists the fields of a row but its vector.
var rowFields = []rowField{
	textField("id", func(p *record.Paths) string { return p.ID }, func(r *Row) *string { return &r.ID }, "id", "ids"),
	textField("label", func(p *record.Paths) string { return p.Label }, func(r *Row) *string { return &r.Label }, "label", "labels"),
	textField(
		"stream",
		func(p *record.Paths) string { return p.Stream },
		func(r *Row) *string { return &r.Stream },
		"stream",
		"sensorId",
	),
	textField("frame", func(p *record.Paths) string { return p.Frame }, func(r *Row) *string { return &r.Frame }, "frame"),
	textField("track", func(p *record.Paths) string { return p.Track }, func(r *Row) *string { return &r.Track }, "track"),
	{"time", func(p *record.Paths) string { return p.Time }, []string{"time", "timestamp"}, (*Row).setTime},
}

func textField(name string, path func(*record.Paths) string, of func(*Row) *string, usual ...string) rowField {
	return rowField{name, path, usual, func(r *Row, text string) error { *of(r) = text; return nil }}
}

// setTime reads a time as records have it, and as programs write it to a column: a space for the T, no zone for UTC.
func (r *Row) setTime(text string) (err error) {
	if text == "" {
		return nil
	}
	written := strings.Replace(text, " ", "T", 1)
	if r.Time, err = record.ParseTime(written); err != nil {
		for _, left := range []string{"Z", "T00:00:00Z"} { // of a date, its day
			if at, isTime := record.ParseTime(written + left); isTime == nil {
				r.Time = at
				return nil
			}
		}
		_, err = record.ParseTime(text)
		return badRow("time-field: %v (--time-field names another column, --time-field %s none)", err, record.Nowhere)
	}
	return nil
}

// names returns the columns that may hold the field.
func (f *rowField) names(p *record.Paths) []string {
	if f.path(p) == record.Nowhere {
		return nil
	}
	return named(f.path(p), f.usual)
}

// vectorNames are usual names of the vector.
var vectorNames = []string{"vector", "embedding", "vectors", "embeddings", "features"}

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

// layout says which columns hold what.
type layout struct {
	vector []int // one of whole vectors, or one per dimension
	fields []int // of rowFields; -1: none
	kept   []int // the others
	unread []string
}

// lay finds the columns among those of a file. A column that was named but is missing is an error.
func (r *Reading) lay(has []string) (layout, error) {
	l, err := r.find(has)
	if !r.Keep || err != nil {
		return l, err
	}
	// What is given back under its own name is kept no second time: the id, unless it has another name.
	for at := range has {
		id := at == l.fields[0] && has[at] == "id"
		if slices.Contains(l.vector, at) {
			continue
		}
		if !id {
			l.kept = append(l.kept, at)
		}
		if !slices.Contains(l.fields, at) {
			l.unread = append(l.unread, has[at])
		}
	}
	return l, nil
}

// find finds the vector and the row's fields.
func (r *Reading) find(has []string) (l layout, err error) {
	p := &r.Fields
	for i := range rowFields {
		f := &rowFields[i]
		at := find(has, f.names(p))
		if at < 0 && r.Usual {
			at = find(has, f.usual)
		}
		if given := f.path(p); at < 0 && given != "" && given != record.Nowhere && !r.Usual {
			return l, fmt.Errorf("%w: no column %s among %s (--%s-field)", ErrFormat, given, listed(has), f.name)
		}
		l.fields = append(l.fields, at)
	}
	if at := find(has, named(p.Vector, vectorNames)); at >= 0 {
		l.vector = []int{at}
		return l, nil
	}
	l.vector, err = numbered(has, p.Vector)
	if r.Usual && err != nil && p.Vector != "" {
		if usual, other := (&Reading{}).find(has); other == nil {
			return usual, nil
		}
	}
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
		return nil, fmt.Errorf(
			"%w: %w: no column %s among %s, nor %s0, %s1 and so on (--vector-field)",
			ErrFormat,
			record.ErrNoVector,
			wanted,
			listed(has),
			wanted,
			wanted,
		)
	}
	return nil, fmt.Errorf("%w: %w: no column named one of %v among %s, nor numbered ones: name it with --vector-field", ErrFormat,
		record.ErrNoVector, vectorNames, listed(has))
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
		return vector, badRow(
			"%d bytes are no vector of float32 (4 bytes a number, little-endian); --vector-field names another column", len(value))
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
			return vector, badRow("%.40q is no number; --vector-field names another column", part)
		}
		vector = append(vector, float32(x))
	}
	return vector, nil
}

// badRow makes the fault of a row that can be left out.
func badRow(format string, args ...any) error {
	return &BadRow{Err: fmt.Errorf(format, args...)}
}
