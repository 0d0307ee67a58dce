package table

import (
	"slices"

	"github.com/slkstream/slkstream/internal/record"
)

// Answer is one row of the output: a result, the number of its row, and what is kept of the input.
type Answer struct {
	Row int64 `json:"row"`
	record.Result
	Kept []any `json:"-"` // a value for each column that Begin was given; nil: missing
}

// Column is a column of a file. Its values are string for Text, int64 for Whole, float64 for Number, bool for Truth,
// time.Time for Time, as record.NearestTime returns it, []byte for Bytes, and json.RawMessage for JSON, which is for all else.
type Column struct {
	Name string
	Kind record.Kind
}

// resultColumns are the fields of a result that answers have.
var resultColumns = record.Columns()

// answerColumns returns the columns of answers: ours, then those kept of the input. One of these that has the name of
// another is called input_NAME.
func answerColumns(kept []Column) []Column {
	columns := []Column{{"row", record.Whole}}
	for i := range resultColumns {
		columns = append(columns, Column{resultColumns[i].Name, resultColumns[i].Kind})
	}
	for _, k := range kept {
		for slices.ContainsFunc(columns, func(c Column) bool { return c.Name == k.Name }) {
			k.Name = "input_" + k.Name
		}
		columns = append(columns, k)
	}
	return columns
}

// values appends the value of each column.
func (a *Answer) values(to []any) []any {
	to = append(to, a.Row)
	for i := range resultColumns {
		to = append(to, a.Result.Column(&resultColumns[i]))
	}
	return append(to, a.Kept...)
}
