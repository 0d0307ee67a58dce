package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/slkstream/slkstream/solver/identity"
)

// readTransit reads the file of --transit, whose lines are STREAM,STREAM,overlap or STREAM,STREAM,LEAST[,MOST], in
// seconds. It returns all faults, or the ways in milliseconds; nil: no file is set.
func readTransit(name string) (identity.Transit, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("transit: %w", err)
	}
	defer file.Close()
	lines := csv.NewReader(file)
	lines.FieldsPerRecord, lines.Comment, lines.TrimLeadingSpace = -1, '#', true
	ways := identity.Transit{}
	var faults []error
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("transit: %s: %w", name, err))
			break // where the next line begins is not known
		}
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		line, _ := lines.FieldPos(0)
		if err := addWay(ways, fields); err != nil {
			faults = append(faults, fmt.Errorf("transit: %s, line %d: %w", name, line, err))
		}
	}
	if len(ways) == 0 && len(faults) == 0 {
		faults = append(faults, fmt.Errorf("transit: %s has no line: STREAM,STREAM,LEAST,MOST or STREAM,STREAM,overlap", name))
	}
	return ways, errors.Join(faults...)
}

// addWay adds the way of a line.
func addWay(ways identity.Transit, fields []string) (err error) {
	if len(fields) < 3 || len(fields) > 4 {
		return fmt.Errorf("%d fields: must be STREAM,STREAM,LEAST,MOST or STREAM,STREAM,overlap", len(fields))
	}
	a, b := min(fields[0], fields[1]), max(fields[0], fields[1])
	var way identity.Way
	switch {
	case a == "":
		return errors.New("a stream without a name")
	case a == b && a != identity.Anywhere:
		return fmt.Errorf("from %q to itself", a)
	case a == identity.Anywhere && a != b:
		return errors.New("* stands for all other streams only if both are *")
	case fields[2] == "overlap" && len(fields) == 3:
		way.Overlap = true
	default:
		if way.Least, err = milliseconds("least", fields[2], 1); err != nil {
			return err
		}
		if len(fields) == 4 && fields[3] != "" {
			if way.Most, err = milliseconds("most", fields[3], float64(way.Least)/1000); err != nil {
				return err
			}
		}
	}
	if _, known := ways[[2]string{a, b}]; known {
		return fmt.Errorf("%q and %q again: each pair has one line, for both directions", a, b)
	}
	ways[[2]string{a, b}] = way
	return nil
}

// milliseconds reads a number of seconds.
func milliseconds(what, text string, least float64) (int64, error) {
	const most = 30 * 24 * 3600
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= least && seconds <= most) {
		return 0, fmt.Errorf("%s is %q: must be seconds, from %g to %d", what, text, least, most)
	}
	return int64(1000 * seconds), nil
}
