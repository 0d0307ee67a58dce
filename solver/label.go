package solver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// RowError is a fault of one row. errors.As finds it in the errors of Label, Embed and Solve.
type RowError struct {
	Row int
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }
func (e *RowError) Unwrap() error { return e.Err }

func rowError(row int, format string, args ...any) error {
	return &RowError{row, fmt.Errorf(format, args...)}
}

// ClassError is a fault in the prior or the proportion of one class, SettingError a fault of one setting.
type (
	ClassError struct {
		Class int
		Err   error
	}
	SettingError struct {
		Setting string
		Err     error
	}
)

func (e *ClassError) Error() string   { return e.Err.Error() }
func (e *ClassError) Unwrap() error   { return e.Err }
func (e *SettingError) Error() string { return e.Setting + " " + e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

func classError(class int, format string, args ...any) error {
	return &ClassError{class, fmt.Errorf(format, args...)}
}

// Label labels the rows whose label is "" from those that have one, with the settings of DefaultPreset. It
// returns a label for each row and its confidence, from 0 to 1; labelled rows keep theirs. For many problems,
// or other settings, use a Solver.
func Label(rows [][]float32, labels []string) (answers []string, confidence []float32, err error) {
	if len(rows) != len(labels) {
		return nil, nil, fmt.Errorf("label: %d labels for %d rows", len(labels), len(rows))
	}
	classes := map[string]int32{}
	for _, label := range labels {
		if label != "" {
			classes[label] = 0
		}
	}
	if len(classes) == 0 {
		return nil, nil, errors.New("label: no row has a label")
	}
	names := slices.Sorted(maps.Keys(classes))
	for c, name := range names {
		classes[name] = int32(c)
	}
	p := &Problem{Each: rows, N: len(rows), D: len(rows[0]), K: len(names)}
	for _, label := range labels {
		c, known := classes[label]
		if !known {
			c = -1
		}
		p.Labels = append(p.Labels, c)
	}
	solve, err := New(Defaults())
	if err != nil {
		return nil, nil, err
	}
	r, err := solve.Solve(context.Background(), p)
	if err != nil {
		return nil, nil, err
	}
	if err := r.Assess(); err != nil {
		return nil, nil, err
	}
	for _, c := range r.Labels {
		answers = append(answers, names[c])
	}
	return answers, r.Confidence, nil
}
