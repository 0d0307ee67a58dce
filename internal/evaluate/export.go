package evaluate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"slkstream/internal/array"
)

// ExportTasks writes the drawn tasks of a set, so that any other tool can be scored on them: folder/SET/base.npy, the rows
// that any method may look at beforehand, and for each cell, folder/SET/1-shot-balanced and so on, three arrays of one row a
// task: rows.npy (of X), truth.npy (0 to ways-1), support.npy (1 where the class may be seen, 0 for a query).
func ExportTasks(folder string, set *Set, split *Split, cells []Cell) error {
	root := filepath.Join(folder, set.Name)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := array.WriteNPYFile(filepath.Join(root, "base.npy"), split.BaseRows, len(split.BaseRows)); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for _, cell := range cells {
		into := filepath.Join(root, cell.Name())
		if err := os.MkdirAll(into, 0o755); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		var rows, truth []int32
		var support []uint8
		n := len(cell.Tasks[0].Rows) // every task of a cell has the same number of rows
		for _, task := range cell.Tasks {
			rows, truth = append(rows, task.Rows...), append(truth, task.Truth...)
			mask := make([]uint8, n)
			for i := range task.Support {
				mask[i] = 1
			}
			support = append(support, mask...)
		}
		for name, values := range map[string][]int32{"rows.npy": rows, "truth.npy": truth} {
			if err := array.WriteNPYFile(filepath.Join(into, name), values, len(cell.Tasks), n); err != nil {
				return fmt.Errorf("export: %w", err)
			}
		}
		if err := array.WriteNPYFile(filepath.Join(into, "support.npy"), support, len(cell.Tasks), n); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}

// Name is the cell's name as a folder: 5-shot-dirichlet-2.
func (c Cell) Name() string {
	return fmt.Sprintf("%d-shot-%s", c.Shots, strings.ReplaceAll(c.Mix.Name, ":", "-"))
}
