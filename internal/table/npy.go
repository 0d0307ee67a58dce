package table

import (
	"os"

	"github.com/slkstream/slkstream/internal/array"
)

// matrix is a .npy file: vectors only.
type matrix struct{ rows *array.Rows }

func openNPY(file *os.File, _ Columns) (Source, error) {
	rows, err := array.NewRows(file, array.SizeOf(file))
	return matrix{rows}, err
}

func (m matrix) note() string {
	if m.rows.Rounded() {
		return "float64 numbers are rounded to float32"
	}
	return ""
}

func (m matrix) Rows() int64  { return m.rows.Len() }
func (m matrix) Close() error { return nil }

func (m matrix) Next() (Row, error) {
	vector, err := m.rows.Next()
	return Row{Vector: vector}, err
}
