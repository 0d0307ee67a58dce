package table

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"github.com/slkstream/slkstream/internal/array"
)

type linesEncoder struct{ to *json.Encoder }

func (o *Output) beginLines() (encoder, error) { return linesEncoder{json.NewEncoder(o.buffer)}, nil }

func (l linesEncoder) write(a *Answer) error { return l.to.Encode(a) }
func (l linesEncoder) finish() error         { return nil }

// columnsEncoder keeps all labels until finish, which knows whether all of them are whole numbers. A row
// without a label is -1 among numbers and empty among texts.
type columnsEncoder struct {
	to     io.Writer
	ids    []string // for .npz; nil: for .npy, which has labels only
	scores []float32
	number map[string]int32
	names  []string
	labels []int32 // indices in names
}

func (o *Output) beginNPY() (encoder, error) {
	return &columnsEncoder{to: o.buffer, number: map[string]int32{}}, nil
}

func (o *Output) beginNPZ() (encoder, error) {
	return &columnsEncoder{to: o.buffer, number: map[string]int32{}, ids: []string{}}, nil
}

func (c *columnsEncoder) write(a *Answer) error {
	at, known := c.number[a.Label]
	if !known {
		at = int32(len(c.names))
		c.number[a.Label], c.names = at, append(c.names, a.Label)
	}
	c.labels = append(c.labels, at)
	if c.ids != nil {
		c.ids, c.scores = append(c.ids, a.ID), append(c.scores, float32(a.Confidence))
	}
	return nil
}

func (c *columnsEncoder) writeLabels(to io.Writer) error {
	numbers := make([]int32, len(c.names))
	for i, name := range c.names {
		if name == "" {
			numbers[i] = -1
			continue
		}
		class, err := strconv.ParseInt(name, 10, 32)
		if err != nil || strconv.FormatInt(class, 10) != name {
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
func (c *columnsEncoder) finish() error {
	if c.ids == nil {
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

func (o *Output) beginCSV() (encoder, error) {
	to := csv.NewWriter(o.buffer)
	return csvEncoder{to}, to.Write([]string{"row", "id", "label", "confidence", "calibrated", "unknown", "unknownScore"})
}

func (c csvEncoder) write(a *Answer) error {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return c.to.Write([]string{
		strconv.FormatInt(a.Row, 10), a.ID, a.Label, number(a.Confidence), strconv.FormatBool(a.Calibrated),
		strconv.FormatBool(a.Unknown), number(a.UnknownScore),
	})
}

func (c csvEncoder) finish() error { c.to.Flush(); return c.to.Error() }
