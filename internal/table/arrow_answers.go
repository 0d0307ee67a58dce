//go:build !lean

package table

import (
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/slkstream/slkstream/internal/record"
)

type arrowEncoder struct {
	to   *ipc.FileWriter
	rows *array.RecordBuilder
	held int
}

// arrowTypes are the types of columns by their kind; of others text.
var arrowTypes = map[record.Kind]arrow.DataType{
	record.Whole: arrow.PrimitiveTypes.Int64, record.Number: arrow.PrimitiveTypes.Float64,
	record.Truth: arrow.FixedWidthTypes.Boolean, record.Time: arrow.FixedWidthTypes.Timestamp_us,
	record.Bytes: arrow.BinaryTypes.Binary, record.Text: arrow.BinaryTypes.String, record.JSON: arrow.BinaryTypes.String,
}

func beginArrow(to io.Writer, columns []Column) (encoder, error) {
	var fields []arrow.Field
	for i, c := range columns {
		fields = append(fields, arrow.Field{Name: c.Name, Type: arrowTypes[c.Kind], Nullable: i > len(resultColumns)})
	}
	schema := arrow.NewSchema(fields, nil)
	w, err := ipc.NewFileWriter(to, ipc.WithSchema(schema))
	if err != nil {
		return nil, err
	}
	return &arrowEncoder{to: w, rows: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

func (e *arrowEncoder) write(values []any) error {
	for i, v := range values {
		switch to := e.rows.Field(i).(type) {
		case *array.Int64Builder:
			appendTo(to, v)
		case *array.Float64Builder:
			appendTo(to, v)
		case *array.BooleanBuilder:
			appendTo(to, v)
		case *array.BinaryBuilder:
			appendTo(to, v)
		case *array.TimestampBuilder:
			if t, is := v.(time.Time); is {
				to.Append(arrow.Timestamp(t.UnixMicro()))
			} else {
				to.AppendNull()
			}
		case *array.StringBuilder:
			if v == nil {
				to.AppendNull()
			} else {
				to.Append(textOf(v))
			}
		}
	}
	if e.held++; e.held < groupOfRows {
		return nil
	}
	return e.flush()
}

// appendTo appends a value, or null if there is none.
func appendTo[T any](to interface {
	Append(T)
	AppendNull()
}, value any,
) {
	if v, is := value.(T); is {
		to.Append(v)
	} else {
		to.AppendNull()
	}
}

func (e *arrowEncoder) flush() error {
	batch := e.rows.NewRecordBatch()
	defer batch.Release()
	e.held = 0
	return e.to.Write(batch)
}

func (e *arrowEncoder) finish() error {
	if e.held > 0 {
		if err := e.flush(); err != nil {
			return err
		}
	}
	e.rows.Release()
	return e.to.Close()
}
