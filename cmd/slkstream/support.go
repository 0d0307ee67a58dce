package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// readSupport reads the labelled examples that the settings name. An example without an id is identified
// by its position; a row without a label is none. Attributes are kept within the bounds of those of the labels topic.
func readSupport(c *config.Config) ([]taught.Example, error) {
	var examples []taught.Example
	pictured := 0 // bytes of attributes
	column, err := readColumn("support-labels", c.Stage.SupportLabels, array.ReadLabels)
	if err != nil {
		return nil, err
	}
	for _, path := range c.Stage.Support {
		number, before, without := int64(0), len(examples), ""
		err := eachRow(path, supportReading(c), func(row table.Row) error {
			at := number
			number++
			label, err := column.at(at)
			switch label = cmp.Or(label, row.Label); {
			case err != nil:
				return err
			case column.setting != "" && column.values[at] == "":
				return nil // the class is unknown
			case label == "" && isNPY(path):
				return fmt.Errorf(
					"%s has no labels: label and audit take them as --support-labels, others a form that has them, such as .npz or .csv",
					path,
				)
			case label == "":
				without = cmp.Or(without, row.Where())
				return nil
			}
			attributes := row.Attributes
			if n := len(attributes); n > labels.LongestAttributes || pictured+n > labels.MostAttributes {
				attributes = nil
			}
			pictured += len(attributes)
			examples = append(examples, taught.Example{
				ID: cmp.Or(row.ID, fmt.Sprintf("%s:%d", path, at)), Label: label,
				Vector: slices.Clone(row.Vector), Model: cmp.Or(row.Model, c.Stage.Model), Attributes: attributes,
			})
			return nil
		}, nil)
		var bad *table.BadRow
		if errors.As(err, &bad) || errors.Is(err, table.ErrFormat) {
			says := "if its fields have names of their own: --support-fields vector=NAME,label=NAME"
			if len(c.Stage.SupportFields) > 0 {
				says = "of examples, --support-fields names the fields"
			}
			err = fmt.Errorf("%w (%s)", err, says)
		}
		if err == nil && without != "" && len(examples) == before {
			err = noLabel(path, without, "support-fields label=NAME")
		}
		if err = cmp.Or(err, column.fits(number)); err != nil {
			return nil, fmt.Errorf("support: %w", err)
		}
	}
	return examples, nil
}

// column is what a setting's file gives for each row of another file. Without a setting it gives nothing.
type column struct {
	setting string
	values  []string
}

// readColumn reads the file of a setting; no column if path is empty.
func readColumn(setting, path string, read func(string) ([]string, error)) (column, error) {
	if path == "" {
		return column{}, nil
	}
	values, err := read(path)
	if err != nil {
		return column{}, fmt.Errorf("%s: %w", setting, err)
	}
	return column{setting, values}, nil
}

// at returns the value for a row; "" if the setting gives nothing.
func (c *column) at(row int64) (string, error) {
	switch {
	case c.setting == "":
		return "", nil
	case row >= int64(len(c.values)):
		return "", fmt.Errorf("%s: has %d rows, there are more vectors", c.setting, len(c.values))
	}
	return c.values[row], nil
}

// fits returns an error if there are fewer or more values than rows.
func (c *column) fits(rows int64) error {
	if c.setting != "" && int64(len(c.values)) != rows {
		return fmt.Errorf("%s: has %d rows, there are %d vectors", c.setting, len(c.values), rows)
	}
	return nil
}

// openInput opens the file of --input, and logs how it is read if there is something to note. With keep, its
// rows have their other columns.
func openInput(c *call, keep bool) (*table.Source, error) {
	path := c.Config.Files.Input
	source, err := table.Open(path, table.Reading{Fields: paths(c.Config.Stage.Field), Keep: keep})
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if source.Note != "" {
		c.Log.Info(source.Note, "input", path)
	}
	return source, nil
}

// supportReading says how files of examples are read: by fields of their own, else as the input, else by the usual names.
func supportReading(c *config.Config) table.Reading {
	if len(c.Stage.SupportFields) > 0 {
		return table.Reading{Fields: paths(c.Stage.SupportField)}
	}
	fields := paths(c.Stage.Field)
	if fields.Label == record.Nowhere { // of the input: examples have one
		fields.Label = ""
	}
	return table.Reading{Fields: fields, Usual: true}
}

// eachRow is eachRowOf the rows of a file.
func eachRow(
	path string, how table.Reading, use func(table.Row) error, skip func(*table.BadRow) error,
) error {
	source, err := table.Open(path, how)
	if err != nil {
		return err
	}
	return eachRowOf(source, use, skip)
}

// eachRowOf reads a source to its end and closes it. Bad rows go to skip. If skip is nil, the error counts
// them, with the faults of the first few, and use gets no row behind the first of them.
func eachRowOf(
	source *table.Source, use func(table.Row) error, skip func(*table.BadRow) error,
) (err error) {
	const kept = 3
	var first []error
	bad := 0
	defer func() {
		faults := errors.Join(first...)
		switch {
		case bad > kept:
			faults = fmt.Errorf("%d rows are bad, of which the first %d: %w", bad, kept, faults)
		case bad > 1:
			faults = fmt.Errorf("%d rows are bad: %w", bad, faults)
		}
		err = errors.Join(err, faults, source.Close())
	}()
	for {
		row, err := source.Next()
		var fault *table.BadRow
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &fault) && skip != nil:
			err = skip(fault)
		case errors.As(err, &fault):
			if bad++; bad <= kept {
				first = append(first, fault)
			}
			err = nil
		case err == nil && bad == 0:
			err = use(row)
		}
		if err != nil {
			return err
		}
	}
}
