package table

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
)

const testRows, testColumns = 3000, 7

// example is a row as a Parquet writer and JSON take it.
type example struct {
	ID     string    `json:"id" parquet:"id"`
	Label  *string   `json:"label,omitempty" parquet:"label,optional"`
	Vector []float32 `json:"vector" parquet:"vector"`
}

func examples() []example {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]example, testRows)
	for i := range all {
		all[i] = example{ID: fmt.Sprintf("item-%d", i), Vector: make([]float32, testColumns)}
		for j := range all[i].Vector {
			all[i].Vector[j] = random.Float32() - .5
		}
		if i%3 == 0 {
			label := fmt.Sprint("class ", i%5)
			all[i].Label = &label
		}
	}
	return all
}

// files returns the examples in every form that holds all fields, and their vectors as .npy.
func files(t testing.TB, all []example) map[string][]byte {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var lines, table, plain bytes.Buffer
	for _, e := range all {
		must(json.NewEncoder(&lines).Encode(e))
	}
	w := parquet.NewGenericWriter[example](&table, parquet.MaxRowsPerRowGroup(1000),
		parquet.PageBufferSize(2048))
	_, err := w.Write(all)
	must(err)
	must(w.Close())
	plain.Write(npy(fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(all),
		testColumns)))
	for _, e := range all {
		must(binary.Write(&plain, binary.LittleEndian, e.Vector))
	}
	written := map[string][]byte{"x.jsonl": lines.Bytes(), "x.parquet": table.Bytes(), "x.npy": plain.Bytes()}
	for name, list := range map[string]arrow.DataType{
		"x.arrow":   arrow.FixedSizeListOf(testColumns, arrow.PrimitiveTypes.Float32),
		"x.feather": arrow.ListOf(arrow.PrimitiveTypes.Float64),
		"x.arrows":  arrow.LargeListOf(arrow.PrimitiveTypes.Float32),
	} {
		written[name] = arrowFile(t, all, list, name == "x.arrows")
	}
	return written
}

func arrowFile(t testing.TB, all []example, list arrow.DataType, stream bool) []byte {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "label", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "embedding", Type: list},
		{Name: "id", Type: arrow.BinaryTypes.LargeString},
	}, nil)
	var out bytes.Buffer
	var writer interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	var err error
	if stream {
		writer = ipc.NewWriter(&out, ipc.WithSchema(schema))
	} else if writer, err = ipc.NewFileWriter(&out, ipc.WithSchema(schema)); err != nil {
		t.Fatal(err)
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer builder.Release()
	for part := range slices.Chunk(all, 700) {
		for _, e := range part {
			if e.Label == nil {
				builder.Field(0).AppendNull()
			} else {
				builder.Field(0).(*array.StringBuilder).Append(*e.Label)
			}
			lists := builder.Field(1).(array.ListLikeBuilder)
			lists.Append(true)
			for _, v := range e.Vector {
				switch b := lists.ValueBuilder().(type) {
				case *array.Float32Builder:
					b.Append(v)
				case *array.Float64Builder:
					b.Append(float64(v))
				}
			}
			builder.Field(2).(*array.LargeStringBuilder).Append(e.ID)
		}
		batch := builder.NewRecordBatch()
		if err := writer.Write(batch); err != nil {
			t.Fatal(err)
		}
		batch.Release()
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func save(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readAll reads a file to its end.
func readAll(path string) (rows []Row, err error) { return readColumns(path, Reading{}) }

func readColumns(path string, names Reading) (rows []Row, err error) {
	source, err := Open(path, names)
	if err != nil {
		return nil, err
	}
	for {
		row, err := source.Next()
		if err == io.EOF {
			return rows, source.Close()
		}
		if err != nil {
			return rows, errors.Join(err, source.Close())
		}
		row.Vector = slices.Clone(row.Vector)
		rows = append(rows, row)
	}
}

func TestEveryFormReadsTheSame(t *testing.T) {
	all := examples()
	for name, content := range files(t, all) {
		rows, err := readAll(save(t, name, content))
		if leftOut(err) {
			continue
		}
		if err != nil || len(rows) != len(all) {
			t.Errorf("%s: %d rows: %v", name, len(rows), err)
			continue
		}
		for i, e := range all {
			want := Row{ID: e.ID, Vector: e.Vector}
			if e.Label != nil {
				want.Label = *e.Label
			}
			if name == "x.npy" {
				want = Row{Vector: e.Vector}
			}
			want.number, want.line = int64(i), rows[i].line
			if lines := name == "x.jsonl"; lines != (want.line == int64(i)+1) {
				t.Errorf("%s: row %d is in line %d", name, i, want.line)
			}
			if !reflect.DeepEqual(rows[i], want) {
				t.Errorf("%s: row %d is %v, want %v", name, i, rows[i], want)
				break
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	nan := []byte("{\"vector\":[1,2]}\n{\"vector\":[1,1e39]}\n")
	for name, row := range map[string]struct {
		content []byte
		want    string
	}{
		"a.txt": {[]byte("1,2"), "its name must end in one of .npy"},
		"b.npy": {nil, "shorter than a .npy header"},
		"c.npy": {
			npy("{'descr': '<f4', 'fortran_order': False, 'shape': (400000000, 2), }", 0, 0),
			"400000000 rows of 2 columns are announced",
		},
		"d.npy": {
			npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", 0, 0, 0, 0, 0, 0, 0, 0),
			"row 0: ",
		},
		"e.npy": {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 0, 0, 0x80, 0x3f, 0, 0, 0x80,
			0x3f), "want rows and columns"},
		"f.jsonl":   {[]byte("{\"vector\":[1,2]}\n\n{\"vector\":[1,"), "line 3:"},
		"g.jsonl":   {nan, "line 2:"},
		"h.jsonl":   {[]byte("{\"vector\":[1,2]}\n{\"vector\":[1,2,3]}\n"), "line 2:"},
		"i.parquet": {[]byte("PAR1 and then nothing of the kind PAR1"), "not readable"},
		"j.parquet": {nil, "not readable"},
		"k.arrow":   {[]byte("ARROW1\x00\x00 and then nothing of the kind ARROW1"), "not readable"},
		"l.arrow":   {[]byte("ARR"), "shorter than an Arrow file"},
		"m.arrow":   {[]byte("AROW1 and more"), "neither an Arrow file nor an Arrow stream"},
		"n.arrow":   {[]byte("\xff\xff\xff\xff\xf0\xff\xff\x7f and more"), "not readable"},
	} {
		_, err := readAll(save(t, name, row.content))
		if leftOut(err) {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %s", name, err, row.want)
		}
	}
	directory := filepath.Join(t.TempDir(), "x.npy")
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(directory, Reading{}); err == nil || !strings.Contains(err.Error(), "it is a directory") {
		t.Error(err)
	}
	if _, err := Open("nowhere.npy", Reading{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func parquetOf[T any](t *testing.T, rows []T) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := parquet.Write(&out, rows); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A damaged file gives an error or other rows, but never panics or takes memory out of proportion
// to its size.
func TestDamagedFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	all := files(t, examples()[:60])
	for _, name := range slices.Sorted(maps.Keys(all)) { // the same damage in each run
		for range 150 {
			content := slices.Clone(all[name])
			// The Arrow library trusts a file's schema, so Arrow files are only truncated here.
			if cut := strings.Contains(name, ".arrow") || name == "x.feather"; cut || random.IntN(3) == 0 {
				content = content[:random.IntN(len(content))]
			} else {
				for range 1 + random.IntN(4) {
					content[random.IntN(len(content))] = byte(random.Uint32())
				}
			}
			if rows, err := readAll(save(t, name, content)); err != nil && rows == nil && !errors.Is(err, ErrFormat) && !leftOut(err) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// npy returns a version 1 .npy file of the given header and data.
func npy(header string, data ...byte) []byte {
	b := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(header)))
	return append(append(b, header...), data...)
}

// A row without a vector has its id, by which an example is forgotten.
func TestIDsOfBadRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.jsonl")
	if err := os.WriteFile(path, []byte("{\"id\":\"a\"}\n\n{\"id\":\"b\",\"vector\":[0]}\n{\"id\":3}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	source, err := Open(path, Reading{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	for _, want := range []string{"a", "b", "3"} {
		var bad *BadRow
		if _, err := source.Next(); !errors.As(err, &bad) || bad.ID != want {
			t.Errorf("%v, want a bad row of id %q", err, want)
		}
	}
	if _, err := source.Next(); err != io.EOF {
		t.Error(err)
	}
}
