package table

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/slkstream/slkstream/internal/record"
)

// lineLimit bounds a line of JSON Lines. 256 Ki numbers of 20 digits fit easily.
const lineLimit = 16 << 20

// unnamed is the decoder's stream for a record without a stream and a topic.
const unnamed = "/0"

// lines reads JSON Lines: each line is the JSON of a record, as on a topic.
type lines struct {
	in      *bufio.Scanner
	decoder *record.Decoder
	items   []record.Item
	number  int64
}

// lineError is the fault of a line. It gives the line's number instead of the row's, and is an ErrFormat.
type lineError struct {
	number int64
	reason error
}

func (e *lineError) Error() string   { return fmt.Sprintf("line %d: %v", e.number, e.reason) }
func (e *lineError) Unwrap() []error { return []error{ErrFormat, e.reason} }

func openLines(file *os.File, names Columns) (*Source, error) {
	var paths record.Paths
	if names != (Columns{}) {
		paths = record.Paths{
			Vector: cmp.Or(names.Vector, "vector"), ID: cmp.Or(names.ID, "id"), Label: cmp.Or(names.Label, "label"),
			Stream: "stream",
		}
	}
	decoder, err := record.NewDecoder(record.Options{Format: "json", Paths: paths, LongestValue: lineLimit})
	if err != nil {
		return nil, err
	}
	in := bufio.NewScanner(withoutMark(file))
	in.Buffer(make([]byte, 0, 1<<16), lineLimit)
	l := &lines{in: in, decoder: decoder}
	return &Source{Rows: -1, next: l.next}, nil
}

func (l *lines) next() (Row, error) {
	for l.in.Scan() {
		l.number++
		line := bytes.TrimSpace(l.in.Bytes())
		if len(line) == 0 {
			continue
		}
		items, err := l.decoder.Decode(context.Background(), &record.Raw{Value: line}, l.items[:0])
		l.items = items
		if err != nil {
			var named struct{ ID, Stream string }
			_ = json.Unmarshal(line, &named) // a row without a vector may have an id
			return Row{ID: named.ID, Stream: named.Stream}, &BadRow{Err: &lineError{l.number, err}}
		}
		if len(items) != 1 {
			return Row{}, &BadRow{Err: &lineError{l.number, fmt.Errorf("%d embeddings, want one", len(items))}}
		}
		item := &items[0]
		if l.decoder.Dimension(item.Model) == 0 { // the first row sets the dimension
			l.decoder.Expect(item.Model, len(item.Vector))
		}
		row := Row{
			ID: item.ItemID, Label: item.Label, Stream: item.Stream, Model: item.Model, Vector: item.Vector,
			Attributes: item.Attributes, line: l.number,
		}
		if row.Stream == unnamed {
			row.Stream = ""
		}
		return row, nil
	}
	if err := l.in.Err(); err != nil {
		return Row{}, &lineError{l.number + 1, err}
	}
	return Row{}, io.EOF
}
