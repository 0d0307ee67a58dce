package evaluate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/slkstream/slkstream/internal/array"
)

// ExportTasks writes the drawn tasks of a set, so that other tools can be scored on them:
// folder/SET/base.npy, the rows that any method may use beforehand, and for each cell,
// folder/SET/1-shot-balanced and so on, three arrays of one row per task: rows.npy (of X), truth.npy (0 to
// ways-1), support.npy (1 if the class is given, 0 for a query).
func ExportTasks(folder string, set *Set, split *Split, cells []Cell) error {
	root := filepath.Join(folder, set.Name)
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := array.WriteNPYFile(filepath.Join(root, "base.npy"), split.BaseRows,
		len(split.BaseRows)); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for _, cell := range cells {
		into := filepath.Join(root, cell.Name())
		if err := os.MkdirAll(into, 0o755); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		var rows, truth []int32
		var support []uint8
		n := len(cell.Tasks[0].Rows) // all tasks of a cell have the same number of rows
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

// Name returns the cell's name as a folder: 5-shot-dirichlet-2.
func (c Cell) Name() string {
	return fmt.Sprintf("%d-shot-%s", c.Shots, strings.ReplaceAll(c.Mix.Name, ":", "-"))
}

// ExportStream writes a drawn stream, so that other tools can be scored on it: folder/SET/seed-N with X.npy,
// the vectors in the order of the stream (drift and noise applied), rows.npy (of the set's X, -1 for noise),
// truth.npy, taught.npy (1 if an item carries its label and is not scored), known.npy (1 if its class has
// labelled rows), episode.npy, and support.npy with support-labels.npy, the labelled rows before the start.
func ExportStream(folder string, trial *Trial, seed uint64) error {
	into := filepath.Join(folder, trial.Name, fmt.Sprintf("seed-%d", seed))
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	var vectors, supports []float32
	var rows, truth, episodes []int32
	var taught, known []uint8
	for number, items := range trial.Episodes {
		for _, i := range items {
			item := trial.Items[i]
			vectors, rows, truth, episodes = append(vectors, item.Vector...), append(rows, item.Row), append(truth,
				item.Truth), append(episodes, int32(number))
			taught, known = append(taught, asBit(item.Taught)), append(known, asBit(item.Known))
		}
	}
	for _, row := range trial.Supports {
		supports = append(supports, row...)
	}
	return errors.Join(
		array.WriteNPYFile(filepath.Join(into, "X.npy"), vectors, len(rows), trial.D),
		array.WriteNPYFile(filepath.Join(into, "rows.npy"), rows, len(rows)),
		array.WriteNPYFile(filepath.Join(into, "truth.npy"), truth, len(rows)),
		array.WriteNPYFile(filepath.Join(into, "taught.npy"), taught, len(rows)),
		array.WriteNPYFile(filepath.Join(into, "known.npy"), known, len(rows)),
		array.WriteNPYFile(filepath.Join(into, "episode.npy"), episodes, len(rows)),
		array.WriteNPYFile(filepath.Join(into, "support.npy"), supports, len(trial.Supports), trial.D),
		array.WriteNPYFile(filepath.Join(into, "support-labels.npy"), trial.SupportLabels,
			len(trial.SupportLabels)),
	)
}

func asBit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// ExportClusters writes a method's labels and the true ones, so that other tools can be scored beside it.
func ExportClusters(folder string, set *Set, r ClusterResult) error {
	into := filepath.Join(folder, set.Name)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for name, labels := range map[string][]int32{"truth.npy": set.Labels, r.Method + ".npy": r.Labels} {
		if err := array.WriteNPYFile(filepath.Join(into, name), labels, len(labels)); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}
