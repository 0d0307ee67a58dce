package table

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	arrowarray "github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"github.com/slkstream/slkstream/internal/record"
)

// form is one way to store the same rows.
type form struct {
	name    string // of the file
	columns Reading
	content []byte
	plain   bool // only vectors, without ids and labels
}

// The rows of every form: whole numbers, which each type of number holds exactly.
var (
	formVectors = [][]float32{{1, -2, 3}, {0, 5, -6}, {7, 8, 120}, {-100, 1, 1}}
	formIDs     = []string{"a", "b", "c", "d"}
	formLabels  = []string{"milk", "", "tea", "milk"}
)

// npyForms returns the matrix in every type of number, both byte orders and both orders of values.
func npyForms() []form {
	var all []form
	for _, kind := range []string{"f2", "f4", "f8", "i1", "i2", "i4", "i8"} {
		for _, order := range []string{"<", ">", "|", "="} {
			for _, fortran := range []bool{false, true} {
				var byteOrder binary.AppendByteOrder = binary.LittleEndian
				if order == ">" {
					byteOrder = binary.BigEndian
				}
				var data []byte
				put := func(x float32) {
					switch kind {
					case "f2":
						data = byteOrder.AppendUint16(data, float16.New(x).Uint16())
					case "f4":
						data = byteOrder.AppendUint32(data, math.Float32bits(x))
					case "f8":
						data = byteOrder.AppendUint64(data, math.Float64bits(float64(x)))
					case "i1":
						data = append(data, byte(int8(x)))
					case "i2":
						data = byteOrder.AppendUint16(data, uint16(int16(x)))
					case "i4":
						data = byteOrder.AppendUint32(data, uint32(int32(x)))
					case "i8":
						data = byteOrder.AppendUint64(data, uint64(int64(x)))
					}
				}
				header := "False"
				if !fortran {
					for _, row := range formVectors {
						for _, x := range row {
							put(x)
						}
					}
				} else {
					header = "True"
					for j := range formVectors[0] {
						for _, row := range formVectors {
							put(row[j])
						}
					}
				}
				text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': %s, 'shape': (4, 3), }", order, kind, header)
				all = append(all, form{name: "x.npy", content: npy(text, data...), plain: true})
			}
		}
	}
	return all
}

// npzForms returns archives of arrays under several names, compressed or not.
func npzForms(t *testing.T) []form {
	texts := func(values []string) []byte {
		var data []byte
		for _, v := range values {
			cell := make([]byte, 16)
			for i, r := range v {
				binary.LittleEndian.PutUint32(cell[4*i:], uint32(r))
			}
			data = append(data, cell...)
		}
		return npy("{'descr': '<U4', 'fortran_order': False, 'shape': (4,), }", data...)
	}
	matrix := map[uint16][]byte{} // Fortran order if not compressed
	for _, f := range npyForms() {
		switch {
		case strings.Contains(string(f.content), "<f4', 'fortran_order': True"):
			matrix[zip.Store] = f.content
		case strings.Contains(string(f.content), "<f4', 'fortran_order': False"):
			matrix[zip.Deflate] = f.content
		}
	}
	var all []form
	for _, c := range []struct {
		vector, id, label string
		names             Reading
		method            uint16
	}{
		{"X", "ids", "y", Reading{}, zip.Store},
		{"embeddings", "id", "labels", Reading{}, zip.Deflate},
		{"clip", "key", "what", Reading{Fields: record.Paths{Vector: "clip", ID: "key", Label: "what"}}, zip.Store},
	} {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for name, content := range map[string][]byte{c.vector: matrix[c.method], c.id: texts(formIDs), c.label: texts(formLabels)} {
			part, err := w.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: c.method})
			if err == nil {
				_, err = part.Write(content)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		all = append(all, form{name: "x.npz", columns: c.names, content: out.Bytes()})
	}
	return all
}

// csvForms returns files with one column per dimension, with a list in one column, and without header.
func csvForms(t *testing.T) []form {
	write := func(head []string, cells func(i int) []string) []byte {
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		if head != nil {
			w.Write(head)
		}
		for i := range formVectors {
			w.Write(cells(i))
		}
		if w.Flush(); w.Error() != nil {
			t.Fatal(w.Error())
		}
		return out.Bytes()
	}
	numbers := func(i int) []string {
		var cells []string
		for _, x := range formVectors[i] {
			cells = append(cells, fmt.Sprint(x))
		}
		return cells
	}
	spread := func(i int) []string { return append([]string{formLabels[i], formIDs[i]}, numbers(i)...) }
	one := func(i int) []string {
		return []string{formIDs[i], "[" + strings.Join(numbers(i), ", ") + "]", formLabels[i]}
	}
	return []form{
		{name: "x.csv", content: write([]string{"label", "id", "x0", "x1", "x2"}, spread)},
		{name: "x.csv", content: write([]string{"label", "id", "emb_1", "emb_2", "emb_3"}, spread)},
		{name: "x.csv", content: write([]string{"label", "id", "0", "1", "2"}, spread)},
		{
			name:    "x.csv",
			columns: Reading{Fields: record.Paths{Vector: "e"}},
			content: write([]string{"label", "id", "e0", "e1", "e2", "b0", "b1"},
				func(i int) []string { return append(spread(i), "9", "9") }),
		},
		{name: "x.csv", content: write([]string{"id", "embedding", "label"}, one)},
		{
			name:    "x.csv",
			columns: Reading{Fields: record.Paths{Vector: "clip", ID: "key", Label: "what"}},
			content: write([]string{"key", "clip", "what"}, one),
		},
		{name: "x.csv", content: write(nil, numbers), plain: true},
	}
}

// parquetForms returns files with lists of several types, bytes, and one column per dimension.
func parquetForms(t *testing.T) []form {
	type bytesRow struct {
		ID     string `parquet:"id"`
		Label  string `parquet:"label"`
		Vector []byte `parquet:"vector"`
	}
	type other struct {
		Key  string    `parquet:"key"`
		What string    `parquet:"what"`
		Clip []float64 `parquet:"clip,list"`
	}
	type wide struct {
		ID    string  `parquet:"id"`
		Label string  `parquet:"label"`
		D0    float32 `parquet:"dim_0"`
		D1    float64 `parquet:"dim_1"`
		D2    int32   `parquet:"dim_2"`
	}
	type whole struct {
		ID     string  `parquet:"id"`
		Label  string  `parquet:"label"`
		Vector []int32 `parquet:"embedding,list"`
	}
	var binaries []bytesRow
	var others []other
	var wides []wide
	var wholes []whole
	for i, v := range formVectors {
		var b []byte
		var doubles []float64
		var integers []int32
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			doubles, integers = append(doubles, float64(x)), append(integers, int32(x))
		}
		id, label := formIDs[i], formLabels[i]
		binaries, others = append(binaries, bytesRow{id, label, b}), append(others, other{id, label, doubles})
		wides = append(wides, wide{id, label, v[0], float64(v[1]), int32(v[2])})
		wholes = append(wholes, whole{id, label, integers})
	}
	return []form{
		{name: "x.parquet", content: parquetOf(t, binaries)},
		{
			name:    "x.parquet",
			columns: Reading{Fields: record.Paths{Vector: "clip", ID: "key", Label: "what"}},
			content: parquetOf(t, others),
		},
		{name: "x.parquet", content: parquetOf(t, wides)},
		{name: "x.parquet", columns: Reading{Fields: record.Paths{Vector: "dim_"}}, content: parquetOf(t, wides)},
		{name: "x.parquet", content: parquetOf(t, wholes)},
		{name: "x.parquet", content: parquetHalves(t)},
	}
}

// parquetHalves returns a list of float16, as pyarrow writes it.
func parquetHalves(t *testing.T) []byte {
	half := parquet.Optional(parquet.Leaf(parquet.FixedLenByteArrayType(2)))
	schema := parquet.NewSchema("table", parquet.Group{
		"id": parquet.String(), "label": parquet.String(), "vector": parquet.List(half),
	})
	var out bytes.Buffer
	w := parquet.NewWriter(&out, schema)
	for i, v := range formVectors {
		row := parquet.Row{
			parquet.ByteArrayValue([]byte(formIDs[i])).Level(0, 0, 0), parquet.ByteArrayValue([]byte(formLabels[i])).Level(0, 0, 1),
		}
		for j, x := range v {
			bits := binary.LittleEndian.AppendUint16(nil, float16.New(x).Uint16())
			row = append(row, parquet.FixedLenByteArrayValue(bits).Level(min(j, 1), 2, 2))
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// arrowForms returns files with lists of several types, bytes, texts, and one column per dimension.
func arrowForms(t *testing.T) []form {
	appendNumber := func(b arrowarray.Builder, x float32) {
		switch b := b.(type) {
		case *arrowarray.Float16Builder:
			b.Append(float16.New(x))
		case *arrowarray.Int8Builder:
			b.Append(int8(x))
		case *arrowarray.Float64Builder:
			b.Append(float64(x))
		}
	}
	var all []form
	for _, vector := range []arrow.DataType{
		arrow.ListOf(arrow.FixedWidthTypes.Float16), arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Int8),
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, &arrow.FixedSizeBinaryType{ByteWidth: 12},
		arrow.BinaryTypes.String, nil,
	} {
		fields := []arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "label", Type: arrow.BinaryTypes.String}}
		if vector != nil {
			fields = append(fields, arrow.Field{Name: "vector", Type: vector})
		} else {
			for j := range formVectors[0] {
				fields = append(fields, arrow.Field{Name: fmt.Sprint("v", j), Type: arrow.PrimitiveTypes.Float64})
			}
		}
		schema := arrow.NewSchema(fields, nil)
		builder := arrowarray.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i, v := range formVectors {
			builder.Field(0).(*arrowarray.StringBuilder).Append(formIDs[i])
			builder.Field(1).(*arrowarray.StringBuilder).Append(formLabels[i])
			var raw []byte
			for _, x := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			}
			switch b := builder.Field(2).(type) {
			case arrowarray.ListLikeBuilder:
				b.Append(true)
				for _, x := range v {
					appendNumber(b.ValueBuilder(), x)
				}
			case *arrowarray.StringBuilder:
				b.Append(strings.ReplaceAll(strings.Trim(fmt.Sprint(v), "[]"), " ", ", "))
			case *arrowarray.BinaryBuilder:
				b.Append(raw)
			case *arrowarray.FixedSizeBinaryBuilder:
				b.Append(raw)
			default:
				for j, x := range v {
					appendNumber(builder.Field(2+j), x)
				}
			}
		}
		var out bytes.Buffer
		w, err := ipc.NewFileWriter(&out, ipc.WithSchema(schema))
		if err == nil {
			err = w.Write(builder.NewRecordBatch())
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, form{name: "x.arrow", content: out.Bytes()})
	}
	return all
}

// All forms of the same rows read the same.
func TestForms(t *testing.T) {
	all := append(npyForms(), npzForms(t)...)
	all = append(append(append(all, csvForms(t)...), parquetForms(t)...), arrowForms(t)...)
	all = append(all, form{
		name: "x.jsonl", columns: Reading{Fields: record.Paths{Vector: "e.v", ID: "key", Label: "what"}},
		content: []byte(`{"key":"a","what":"milk","e":{"v":[1,-2,3]}}` + "\n" + `{"key":"b","e":{"v":[0,5,-6]}}` + "\n" +
			`{"key":"c","what":"tea","e":{"v":[7,8,120]}}` + "\n" + `{"key":"d","what":"milk","e":{"v":[-100,1,1]}}` + "\n"),
	})
	for number, f := range all {
		rows, err := readColumns(save(t, f.name, f.content), f.columns)
		if leftOut(err) {
			continue
		}
		if err != nil || len(rows) != len(formVectors) {
			t.Errorf("form %d, %s: %d rows: %v", number, f.name, len(rows), err)
			continue
		}
		for i, row := range rows {
			id, label := formIDs[i], formLabels[i]
			if f.plain {
				id, label = "", ""
			}
			if fmt.Sprint(row.Vector) != fmt.Sprint(formVectors[i]) || row.ID != id || row.Label != label {
				t.Errorf("form %d, %s: row %d is %v, id %q, label %q", number, f.name, i, row.Vector, row.ID, row.Label)
			}
		}
	}
	if len(all) < 60 {
		t.Errorf("only %d forms", len(all))
	}
}

// Bytes of a vector are read as numbers, whatever its first byte; one in 256 begins like a list in text.
func TestBytesOfAVectorAreNoText(t *testing.T) {
	for first := range 256 {
		want := []float32{math.Float32frombits(0x3e000000 | uint32(first)), -2, .5}
		var value []byte
		for _, x := range want {
			value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
		}
		if got, err := bytesVector(nil, value); err != nil || !slices.Equal(got, want) {
			t.Errorf("first byte %#x: %v, %v", first, got, err)
		}
	}
	if got, err := bytesVector(nil, []byte(" [1, -2, .5]\n")); err != nil || !slices.Equal(got, []float32{1, -2, .5}) {
		t.Errorf("a text: %v, %v", got, err)
	}
}

// Unreadable files are refused with advice.
func TestFormsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		columns Reading
		content string
		want    string
	}{
		"a.csv": {content: "colour,shape\nred,round\n", want: "name it with --vector-field"},
		"b.csv": {content: "a0,a1,b0,b1\n1,2,3,4\n", want: "say which are the vector with --vector-field"},
		"c.csv": {columns: Reading{Fields: record.Paths{Vector: "clip"}}, content: "a0,a1\n1,2\n", want: "no column clip among a0, a1, nor clip0, clip1"},
		"d.csv": {columns: Reading{Fields: record.Paths{ID: "key"}}, content: "x0,x1\n1,2\n", want: "no column key among x0, x1"},
		"e.csv": {content: "x0,x1\n1,two\n", want: `row 0: "two" is no number`},
		"f.csv": {content: "", want: "it is empty"},
		"g.npy": {content: string(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1), }", 0, 0, 0, 0, 0, 0, 0, 0)), want: "X.astype('float32')"},
		"h.npz": {content: "PK nothing", want: "not readable"},
	} {
		if _, err := readColumns(save(t, name, []byte(c.content)), c.columns); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
