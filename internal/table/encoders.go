package table

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

type linesEncoder struct {
	to    io.Writer
	names [][]byte // of the columns, as JSON
	line  []byte
}

func beginLines(to io.Writer, columns []Column) (encoder, error) {
	l := &linesEncoder{to: to}
	for _, c := range columns {
		name, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		l.names = append(l.names, name)
	}
	return l, nil
}

// write leaves out members without a value.
func (l *linesEncoder) write(values []any) error {
	l.line = l.line[:0]
	opening := byte('{')
	for i, v := range values {
		if v == nil {
			continue
		}
		value, err := json.Marshal(v)
		if err != nil {
			return err
		}
		l.line = append(append(append(append(l.line, opening), l.names[i]...), ':'), value...)
		opening = ','
	}
	_, err := l.to.Write(append(l.line, "}\n"...))
	return err
}

func (l *linesEncoder) finish() error { return nil }

// labelsEncoder keeps all labels until finish, which knows whether all of them are whole numbers from 0 on. A row
// without a label is -1 among numbers and empty among texts.
type labelsEncoder struct {
	to                    io.Writer
	id, label, confidence int // columns
	ids                   []string
	scores                []float32
	number                map[string]int32
	names                 []string
	labels                []int32 // indices in names
	alone                 bool    // labels are all of the file: .npy
}

func beginNPZ(to io.Writer, columns []Column) (encoder, error) {
	at := func(name string) int { return slices.IndexFunc(columns, func(c Column) bool { return c.Name == name }) }
	return &labelsEncoder{
		to: to, id: at("id"), label: at("label"), confidence: at("confidence"), number: map[string]int32{},
	}, nil
}

func beginNPY(to io.Writer, columns []Column) (encoder, error) {
	l, err := beginNPZ(to, columns)
	l.(*labelsEncoder).alone = true
	return l, err
}

func (c *labelsEncoder) write(values []any) error {
	label := values[c.label].(string)
	at, known := c.number[label]
	if !known {
		at = int32(len(c.names))
		c.number[label], c.names = at, append(c.names, label)
	}
	c.labels = append(c.labels, at)
	if !c.alone {
		c.ids, c.scores = append(c.ids, values[c.id].(string)), append(c.scores, float32(values[c.confidence].(float64)))
	}
	return nil
}

func (c *labelsEncoder) writeLabels(to io.Writer) error {
	numbers := make([]int32, len(c.names))
	for i, name := range c.names {
		if name == "" {
			numbers[i] = -1
			continue
		}
		class, err := strconv.ParseInt(name, 10, 32)
		if err != nil || class < 0 || strconv.FormatInt(class, 10) != name {
			return array.WriteTexts(to, len(c.labels), func(i int) string { return c.names[c.labels[i]] })
		}
		numbers[i] = int32(class)
	}
	for i, at := range c.labels {
		c.labels[i] = numbers[at]
	}
	return array.WriteNPY(to, c.labels, len(c.labels))
}

// finish writes the labels, or for .npz the arrays label, id and confidence.
func (c *labelsEncoder) finish() error {
	if c.alone {
		return c.writeLabels(c.to)
	}
	out := zip.NewWriter(c.to)
	for _, part := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"id", func(w io.Writer) error {
			return array.WriteTexts(w, len(c.ids), func(i int) string { return c.ids[i] })
		}},
		{"confidence", func(w io.Writer) error { return array.WriteNPY(w, c.scores, len(c.scores)) }},
		{"label", c.writeLabels},
	} {
		w, err := out.CreateHeader(&zip.FileHeader{Name: part.name + ".npy", Method: zip.Store})
		if err == nil {
			err = part.write(w)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

type csvEncoder struct{ to *csv.Writer }

func beginCSV(to io.Writer, columns []Column) (encoder, error) {
	w := csv.NewWriter(to)
	var head []string
	for _, c := range columns {
		head = append(head, c.Name)
	}
	return csvEncoder{w}, w.Write(head)
}

func (c csvEncoder) write(values []any) error {
	var cells []string
	for _, v := range values {
		cells = append(cells, textOf(v))
	}
	return c.to.Write(cells)
}

func (c csvEncoder) finish() error { c.to.Flush(); return c.to.Error() }

// textOf returns a value as text: a JSON string without its quotes, and bytes as JSON has them.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return string(record.AppendTime(nil, v))
	case json.RawMessage:
		var text string
		if json.Unmarshal(v, &text) == nil {
			return text
		}
		return string(v)
	case []byte:
		text, _ := json.Marshal(v) // bytes can be written
		return string(text[1 : len(text)-1])
	}
	return fmt.Sprint(value)
}
