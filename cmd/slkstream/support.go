package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/solver/stream"
)

// readSupport reads the labelled examples that the settings name. An example without an id is identified
// by its position.
func readSupport(c *config.Config) ([]stream.Example, error) {
	var examples []stream.Example
	for _, path := range c.Stage.Support {
		labels, err := readLabels("support-labels", c.Stage.SupportLabels)
		if err != nil {
			return nil, err
		}
		number := 0
		err = eachRow(path, columns(c), func(row table.Row) error {
			if labels != nil {
				if number >= len(labels) {
					return fmt.Errorf("support: %s has more rows than the %d labels of %s (support-labels)", path,
						len(labels), c.Stage.SupportLabels)
				}
				if row.Label = labels[number]; row.Label == "" {
					number++ // the class is unknown
					return nil
				}
			}
			if row.Label == "" {
				return fmt.Errorf("support: %s: row %d has no label", path, number)
			}
			if row.ID == "" {
				row.ID = fmt.Sprintf("%s:%d", path, number)
			}
			model := row.Model
			if model == "" {
				model = c.Stage.Model
			}
			examples = append(examples, stream.Example{
				ID: row.ID, Label: row.Label, Vector: slices.Clone(row.Vector),
				Model: model,
			})
			number++
			return nil
		})
		if err != nil {
			return nil, err
		}
		if labels != nil && number < len(labels) {
			return nil, fmt.Errorf("support: %s has %d rows, %s has %d labels (support-labels)", path, number,
				c.Stage.SupportLabels, len(labels))
		}
	}
	return examples, nil
}

// readLabels reads the classes of a setting's .npy file as texts, "" for an unknown class; nil if path is
// empty.
func readLabels(setting, path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	labels, err := array.ReadLabels(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	return labels, nil
}

// openInput opens the file of --input, and logs how it is read if there is something to note.
func openInput(c *call) (table.Source, error) {
	path := c.Config.Files.Input
	source, err := table.Open(path, columns(c.Config))
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if note := table.Note(source); note != "" {
		c.Log.Info(note, "input", path)
	}
	return source, nil
}

// columns returns the names of a file's columns. A stage's fields are those of its records.
func columns(c *config.Config) table.Columns {
	if !slices.Contains([]string{"label", "feed", "teach", "audit"}, c.Command()) {
		return table.Columns{}
	}
	return table.Columns{Vector: c.Stage.Field("vector"), ID: c.Stage.Field("id"), Label: c.Stage.Field("label")}
}

// eachRow reads a file to its end. Its error counts all bad rows.
func eachRow(path string, names table.Columns, use func(table.Row) error) error {
	source, err := table.Open(path, names)
	if err != nil {
		return err
	}
	return eachRowOf(source, use)
}

// eachRowOf reads a source to its end and closes it.
func eachRowOf(source table.Source, use func(table.Row) error) error {
	var bad badRows
	err := eachGoodRow(source, use, bad.add)
	return errors.Join(err, bad.err())
}

// eachGoodRow reads a source to its end and closes it. Bad rows go to skip. If skip returns errBadRows,
// the rest is read only for further bad rows. Any other error of skip ends reading.
func eachGoodRow(source table.Source, use func(table.Row) error, skip func(*table.BadRow) error) (err error) {
	defer func() { err = errors.Join(err, source.Close()) }()
	useless := false
	for {
		row, err := source.Next()
		var bad *table.BadRow
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &bad):
			err := skip(bad)
			if err != nil && err != errBadRows {
				return err
			}
			useless = useless || err != nil
			continue
		case err != nil:
			return err
		case useless:
			continue // from here on only bad rows matter
		}
		if err := use(row); err != nil {
			return err
		}
	}
}

// badRows counts bad rows, and keeps the faults of the first few.
type badRows struct {
	count int
	first []error
}

var errBadRows = errors.New("rows are bad")

func (b *badRows) add(row *table.BadRow) error {
	const kept = 3
	if b.count++; len(b.first) < kept {
		b.first = append(b.first, row)
	}
	return errBadRows
}

// err reports the number of bad rows and the first faults.
func (b *badRows) err() error {
	switch {
	case b.count == 0:
		return nil
	case b.count == 1:
		return b.first[0]
	}
	return fmt.Errorf("%d rows are bad: %w", b.count, errors.Join(b.first...))
}
