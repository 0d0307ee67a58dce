//go:build !lean

package table

import (
	"io"
	"slices"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/slkstream/slkstream/internal/record"
)

type parquetEncoder struct {
	to   *parquet.GenericWriter[any]
	rows []parquet.Row
}

// parquetNodes are the columns by their kind; of others text.
var parquetNodes = map[record.Kind]parquet.Node{
	record.Whole: parquet.Int(64), record.Number: parquet.Leaf(parquet.DoubleType), record.Truth: parquet.Leaf(parquet.BooleanType),
	record.Time: parquet.Timestamp(parquet.Microsecond), record.Bytes: parquet.Leaf(parquet.ByteArrayType),
	record.Text: parquet.String(), record.JSON: parquet.String(),
}

// inOrder is a group whose columns have an order of their own, not that of their names.
type inOrder struct {
	parquet.Group
	columns []Column
}

func (g inOrder) Fields() []parquet.Field {
	fields := g.Group.Fields()
	position := func(f parquet.Field) int {
		return slices.IndexFunc(g.columns, func(c Column) bool { return c.Name == f.Name() })
	}
	slices.SortFunc(fields, func(a, b parquet.Field) int { return position(a) - position(b) })
	return fields
}

func beginParquet(to io.Writer, columns []Column) (encoder, error) {
	group := inOrder{parquet.Group{}, columns}
	for i, c := range columns {
		node := parquetNodes[c.Kind]
		if i > len(resultColumns) {
			node = parquet.Optional(node)
		}
		group.Group[c.Name] = node
	}
	return &parquetEncoder{to: parquet.NewGenericWriter[any](to, parquet.NewSchema("answers", group),
		parquet.MaxRowsPerRowGroup(16*groupOfRows), parquet.Compression(&parquet.Zstd))}, nil
}

func (p *parquetEncoder) write(values []any) error {
	row := make(parquet.Row, len(values))
	for i, v := range values {
		optional := 0
		if i > len(resultColumns) {
			optional = 1
		}
		switch v := v.(type) {
		case nil:
			row[i], optional = parquet.NullValue(), 0
		case int64, float64, bool, []byte:
			row[i] = parquet.ValueOf(v)
		case time.Time:
			row[i] = parquet.ValueOf(v.UnixMicro())
		default:
			row[i] = parquet.ValueOf(textOf(v))
		}
		row[i] = row[i].Level(0, optional, i)
	}
	if p.rows = append(p.rows, row); len(p.rows) < groupOfRows {
		return nil
	}
	return p.flush()
}

func (p *parquetEncoder) flush() error {
	_, err := p.to.WriteRows(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetEncoder) finish() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.to.Close()
}
