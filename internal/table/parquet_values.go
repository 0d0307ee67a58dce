//go:build !lean

package table

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/slkstream/slkstream/internal/record"
)

// isNothing reports whether a leaf can hold no value: pyarrow writes a column of nothing but None so.
func isNothing(p *parquet.File, path []string) bool {
	leaf, _ := p.Schema().Lookup(path...)
	return leaf.Node.Type().Kind() < 0
}

// checkText refuses a leaf of lists, where one value is needed.
func checkText(p *parquet.File, path []string) error {
	if leaf, _ := p.Schema().Lookup(path...); leaf.MaxRepetitionLevel > 0 {
		return fmt.Errorf("%w: column %s is a %s with %d levels of lists, not texts", ErrFormat, path[0],
			leaf.Node.Type(), leaf.MaxRepetitionLevel)
	}
	return nil
}

// listLevel returns the definition level from which on a list is there, if only as an empty one.
func listLevel(p *parquet.File, path []string) (level int) {
	node := parquet.Node(p.Schema())
	for _, step := range path {
		fields := node.Fields()
		node = fields[slices.IndexFunc(fields, func(f parquet.Field) bool { return f.Name() == step })]
		if node.Repeated() {
			break
		}
		if node.Optional() {
			level++
		}
	}
	return level
}

// keep returns what is kept of a row with one value more; nil if it is missing.
func (c *column) keep(before any, v parquet.Value) any {
	list, _ := before.([]any)
	switch {
	case c.list && v.DefinitionLevel() < c.there:
		return nil
	case c.list && v.DefinitionLevel() == c.there:
		return []any{}
	case c.list:
		return append(list, c.value(v))
	}
	return c.value(v)
}

func (c *column) value(v parquet.Value) any {
	if v.IsNull() {
		return nil
	}
	return c.read(v)
}

// text returns a value as the text of a field; "" if it is missing.
func (c *column) text(v parquet.Value) string {
	if v.Kind() == parquet.ByteArray {
		return v.String() // texts may lack the mark of one
	}
	return textOf(c.value(v))
}

// parquetValue returns the kind of a leaf's values as Column has them, and what returns a copy of one.
func parquetValue(of parquet.Type) (record.Kind, func(parquet.Value) any) {
	logical := of.LogicalType()
	if logical == nil {
		logical = &format.LogicalType{}
	}
	whole := func(v parquet.Value) int64 {
		if v.Kind() == parquet.Int32 {
			return int64(v.Int32())
		}
		return v.Int64()
	}
	unsigned := logical.Integer != nil && !logical.Integer.IsSigned
	switch {
	case logical.Timestamp != nil:
		perSecond := int64(time.Second / unitOf(logical.Timestamp.Unit))
		return record.Time, func(v parquet.Value) any {
			n := v.Int64()
			return record.NearestTime(time.Unix(n/perSecond, n%perSecond*int64(time.Second)/perSecond))
		}
	case of.Kind() == parquet.Int96: // nanoseconds of a Julian day, as Spark and Impala write it
		return record.Time, func(v parquet.Value) any {
			const daysTo1970, day = 2440588, 24 * 60 * 60
			n := v.Int96()
			return record.NearestTime(time.Unix((int64(n[2])-daysTo1970)*day, int64(uint64(n[1])<<32|uint64(n[0]))))
		}
	case logical.Date != nil:
		return record.Text, func(v parquet.Value) any {
			return time.Unix(0, 0).UTC().AddDate(0, 0, int(v.Int32())).Format(time.DateOnly)
		}
	case logical.Time != nil:
		unit := unitOf(logical.Time.Unit)
		return record.Text, func(v parquet.Value) any {
			return time.Time{}.Add(time.Duration(whole(v)) * unit).Format("15:04:05.999999999")
		}
	case logical.Decimal != nil:
		return record.Text, func(v parquet.Value) any {
			if kind := v.Kind(); kind == parquet.Int32 || kind == parquet.Int64 {
				return decimalText(big.NewInt(whole(v)), int(logical.Decimal.Scale))
			}
			return decimalText(signed(v.ByteArray()), int(logical.Decimal.Scale))
		}
	case logical.UUID != nil:
		return record.Text, func(v parquet.Value) any {
			text := hex.EncodeToString(v.ByteArray())
			return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
		}
	case unsigned && of.Kind() == parquet.Int64: // it may be beyond int64
		return record.JSON, func(v parquet.Value) any { return json.RawMessage(strconv.FormatUint(v.Uint64(), 10)) }
	case unsigned:
		return record.Whole, func(v parquet.Value) any { return int64(v.Uint32()) }
	case logical.UTF8 != nil || logical.Enum != nil || logical.Json != nil:
		return record.Text, func(v parquet.Value) any { return v.String() }
	}
	switch of.Kind() {
	case parquet.Boolean:
		return record.Truth, func(v parquet.Value) any { return v.Boolean() }
	case parquet.Int32, parquet.Int64:
		return record.Whole, func(v parquet.Value) any { return whole(v) }
	case parquet.Float:
		return record.Number, func(v parquet.Value) any {
			x, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v.Float()), 'g', -1, 32), 64) // 0.1, not 0.10000000149
			return finite(x)
		}
	case parquet.Double:
		return record.Number, func(v parquet.Value) any { return finite(v.Double()) }
	}
	return record.Bytes, func(v parquet.Value) any { return slices.Clone(v.ByteArray()) }
}

// finite returns a number that JSON has; nil for another.
func finite(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

func unitOf(unit format.TimeUnit) time.Duration {
	switch {
	case unit.Millis != nil:
		return time.Millisecond
	case unit.Micros != nil:
		return time.Microsecond
	}
	return time.Nanosecond
}

// signed returns a number in two's complement, its first byte the greatest.
func signed(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// mostDecimals bounds the digits behind the point that a file claims of a decimal: all are written out.
const mostDecimals = 1000

// decimalText writes n / 10^scale with all its decimals.
func decimalText(n *big.Int, scale int) string {
	return new(big.Rat).SetFrac(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
}
