package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	pending int // items of the line that are still to be returned, the last of items
	number  int64

	source  *Source // nil: nothing is kept
	columns map[string]int
	rests   []*record.Rest // of the line's items
	rest    []byte         // of the last item
}

// lineError is the fault of a line. It gives the line's number instead of the row's, and is an ErrFormat.
type lineError struct {
	number int64
	reason error
}

func (e *lineError) Error() string   { return fmt.Sprintf("line %d: %v", e.number, e.reason) }
func (e *lineError) Unwrap() []error { return []error{ErrFormat, e.reason} }

func openLines(file *os.File, how Reading) (*Source, error) {
	decoder, err := record.NewDecoder(record.Options{
		Format: "json", Paths: how.Fields, Usual: how.Usual, LongestValue: lineLimit,
	})
	if err != nil {
		return nil, err
	}
	in := bufio.NewScanner(withoutMark(file))
	in.Buffer(make([]byte, 0, 1<<16), lineLimit)
	l := &lines{in: in, decoder: decoder}
	source := &Source{Rows: -1, next: l.next}
	if how.Keep {
		l.source, l.columns = source, map[string]int{}
	}
	return source, nil
}

// keep takes the members of the line that are around an item: its vector and the line's other items are left out.
func (l *lines) keep(item *record.Item) []any {
	kept := make([]any, len(l.source.Kept))
	object := max(0, int(item.Source.Object)) // below 0: the line is the item
	l.rest = l.rests[min(object, len(l.rests)-1)].Append(l.rest[:0])
	record.Members(l.rest, func(name string, value []byte) {
		if name == "id" && item.Source.Object < 0 {
			return // given back as the answer's
		}
		at, known := l.columns[name]
		if !known {
			at = len(l.source.Kept)
			l.columns[name] = at
			l.source.Kept, kept = append(l.source.Kept, Column{name, record.JSON}), append(kept, nil)
		}
		kept[at] = json.RawMessage(bytes.Clone(value))
	})
	return kept
}

// named returns what a line without a usable vector has besides, if it is one item.
func (l *lines) named(line []byte) Row {
	var has struct{ ID, Stream, Objects json.RawMessage }
	_ = json.Unmarshal(line, &has) // it may be no JSON
	row := Row{ID: textOf(has.ID), Stream: textOf(has.Stream)}
	if l.source == nil || has.Objects != nil || !json.Valid(line) {
		return row
	}
	if l.rests = l.decoder.Rests(line, nil); len(l.rests) == 1 {
		row.Kept = l.keep(&record.Item{Source: record.Source{Object: -1}})
	}
	return row
}

func (l *lines) next() (Row, error) {
	for l.pending == 0 && l.in.Scan() {
		l.number++
		line := bytes.TrimSpace(l.in.Bytes())
		if len(line) == 0 {
			continue
		}
		items, err := l.decoder.Decode(context.Background(), &record.Raw{Value: line}, l.items[:0])
		l.items = items
		var empty *record.Empty
		if errors.As(err, &empty) {
			continue // a frame in which nothing was found
		}
		if err != nil {
			return l.named(line), &BadRow{Err: &lineError{l.number, err}}
		}
		if l.pending = len(items); l.source != nil {
			l.rests = l.decoder.Rests(line, items)
		}
	}
	if l.pending == 0 {
		if err := l.in.Err(); err != nil {
			return Row{}, &lineError{l.number + 1, err}
		}
		return Row{}, io.EOF
	}
	item := &l.items[len(l.items)-l.pending]
	l.pending--
	if l.decoder.Dimension(item.Model) == 0 { // the first row sets the dimension
		l.decoder.Expect(item.Model, len(item.Vector))
	}
	row := Row{
		ID: item.ItemID, Label: item.Label, Stream: item.Stream, Model: item.Model, Vector: item.Vector,
		Frame: item.Frame, Track: item.Track, Time: item.Time, Attributes: item.Attributes,
		line: l.number,
	}
	if l.source != nil {
		row.Kept = l.keep(item)
	}
	if row.Stream == unnamed {
		row.Stream = ""
	}
	return row, nil
}
