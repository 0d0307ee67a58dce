package table

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"
)

type linesEncoder struct{ to *json.Encoder }

func (o *Output) beginLines() (encoder, error) { return linesEncoder{json.NewEncoder(o.buffer)}, nil }

func (l linesEncoder) write(a *Answer) error { return l.to.Encode(a) }
func (l linesEncoder) finish() error         { return nil }

// npyHeaderSize is the room kept for a header that is known only at the end, as numpy pads it.
const npyHeaderSize = 128

type npyEncoder struct {
	to    io.Writer
	count int64
}

func (o *Output) beginNPY() (encoder, error) {
	_, err := o.buffer.Write(make([]byte, npyHeaderSize))
	return &npyEncoder{to: o.buffer}, err
}

func (n *npyEncoder) write(a *Answer) error {
	class, err := strconv.ParseInt(a.Label, 10, 32)
	if err != nil {
		return fmt.Errorf("label %q is no whole number, and .npy holds nothing else: write .jsonl, .parquet or .arrow", a.Label)
	}
	n.count++
	return binary.Write(n.to, binary.LittleEndian, int32(class))
}

func (n *npyEncoder) finish() error { return nil }

// patch writes the header of a .npy file into the room kept for it.
func (o *Output) patch() error {
	n, isNPY := o.encoder.(*npyEncoder)
	if !isNPY {
		return nil
	}
	text := fmt.Sprintf("{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }", n.count)
	header := append([]byte("\x93NUMPY\x01\x00"), npyHeaderSize-10, 0)
	header = append(header, text...)
	header = append(header, strings.Repeat(" ", npyHeaderSize-len(header)-1)...)
	_, err := o.file.WriteAt(append(header, '\n'), 0)
	return err
}

type parquetEncoder struct {
	to   *parquet.GenericWriter[Answer]
	rows []Answer
}

// groupOfRows is how many answers are held until they are written together.
const groupOfRows = 8192

func (o *Output) beginParquet() (encoder, error) {
	return &parquetEncoder{to: parquet.NewGenericWriter[Answer](o.buffer,
		parquet.MaxRowsPerRowGroup(16*groupOfRows), parquet.Compression(&parquet.Zstd))}, nil
}

func (p *parquetEncoder) write(a *Answer) error {
	if p.rows = append(p.rows, *a); len(p.rows) < groupOfRows {
		return nil
	}
	return p.flush()
}

func (p *parquetEncoder) flush() error {
	_, err := p.to.Write(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetEncoder) finish() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.to.Close()
}

type arrowEncoder struct {
	to   *ipc.FileWriter
	rows *array.RecordBuilder
	held int
}

func (o *Output) beginArrow() (encoder, error) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "row", Type: arrow.PrimitiveTypes.Int64},
		{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "label", Type: arrow.BinaryTypes.String},
		{Name: "confidence", Type: arrow.PrimitiveTypes.Float64},
		{Name: "calibrated", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "unknown", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "unknownScore", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	to, err := ipc.NewFileWriter(o.buffer, ipc.WithSchema(schema))
	if err != nil {
		return nil, err
	}
	return &arrowEncoder{to: to, rows: array.NewRecordBuilder(memory.DefaultAllocator, schema)}, nil
}

func (e *arrowEncoder) write(a *Answer) error {
	e.rows.Field(0).(*array.Int64Builder).Append(a.Row)
	e.rows.Field(1).(*array.StringBuilder).Append(a.ID)
	e.rows.Field(2).(*array.StringBuilder).Append(a.Label)
	e.rows.Field(3).(*array.Float64Builder).Append(a.Confidence)
	e.rows.Field(4).(*array.BooleanBuilder).Append(a.Calibrated)
	e.rows.Field(5).(*array.BooleanBuilder).Append(a.Unknown)
	e.rows.Field(6).(*array.Float64Builder).Append(a.UnknownScore)
	if e.held++; e.held < groupOfRows {
		return nil
	}
	return e.flush()
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
