package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/solver/stream"
)

// readSupport reads the labelled examples that the settings name. An example without an id is known by its
// place.
func readSupport(c *config.Config) ([]stream.Example, error) {
	var examples []stream.Example
	for _, path := range c.Stage.Support {
		labels, err := supportClasses(c.Stage.SupportLabels)
		if err != nil {
			return nil, err
		}
		number := 0
		err = eachRow(path, func(row table.Row) error {
			if labels != nil {
				if number >= len(labels) {
					return fmt.Errorf("support: %s has more rows than the %d labels of %s (support-labels)", path,
						len(labels), c.Stage.SupportLabels)
				}
				if row.Label = labels[number]; row.Label == "" {
					number++ // of unknown class
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

// supportClasses reads the classes of a .npy support file as texts, "" where the class is unknown; nil if
// there is no file.
func supportClasses(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	classes, err := array.ReadIntegers(path)
	if err != nil {
		return nil, fmt.Errorf("support-labels: %w", err)
	}
	labels := make([]string, len(classes.Integers))
	for i, class := range classes.Integers {
		if class >= 0 {
			labels[i] = strconv.Itoa(int(class))
		}
	}
	return labels, nil
}

// openInput opens the file of --input, and says how it is read where a person should know.
func openInput(c *call) (table.Source, error) {
	path := c.Config.Files.Input
	source, err := table.Open(path)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if note := table.Note(source); note != "" {
		c.Log.Info(note, "input", path)
	}
	return source, nil
}

// eachRow reads a file to its end.
func eachRow(path string, use func(table.Row) error) error {
	source, err := table.Open(path)
	if err != nil {
		return err
	}
	return eachRowOf(source, use)
}

// eachRowOf reads a source to its end and closes it.
func eachRowOf(source table.Source, use func(table.Row) error) (err error) {
	defer func() { err = errors.Join(err, source.Close()) }()
	for {
		row, err := source.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := use(row); err != nil {
			return err
		}
	}
}
