package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// printer writes results: JSON Lines as they come, or the rows of one table.
type printer struct {
	out   io.Writer
	json  bool
	table *tabwriter.Writer
	text  func(string) string // what a table shows of a text; nil: all
	err   error               // the first of print
}

// newPrinter returns a printer of figures, which a table aligns at the right. Rows and header end in a tab.
func newPrinter(c *call, header string) *printer { return newTable(c, header, tabwriter.AlignRight) }

// newList returns a printer of texts that others wrote: a table aligns them at the left, and
// shows the beginning of each without control characters.
func newList(c *call, header string) *printer {
	p := newTable(c, header, 0)
	p.text = func(text string) string { return c.text(text, 200) }
	return p
}

func newTable(c *call, header string, flags uint) *printer {
	p := &printer{out: c.Out, json: c.Config.Output.JSON}
	if !p.json {
		p.table = tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', flags)
		fmt.Fprintln(p.table, header)
	}
	return p
}

// print writes a result: as JSON, or as a row whose cells are separated by tabs. Long work stops at its
// error; others leave it to close.
func (p *printer) print(result any, format string, cells ...any) error {
	if p.json {
		p.err = cmp.Or(p.err, json.NewEncoder(p.out).Encode(result))
		return p.err
	}
	for i, cell := range cells {
		if text, is := cell.(string); is && p.text != nil {
			cells[i] = p.text(text)
		}
	}
	fmt.Fprintf(p.table, format+"\n", cells...) // an error of the output shows in close
	return nil
}

// close writes out the table, and returns the first error.
func (p *printer) close() error {
	if p.table != nil {
		p.err = p.table.Flush()
	}
	return p.err
}

// text returns a record's text, made printable unless raw is set.
func (c *call) text(text string, most int) string {
	if c.Config.Output.Raw {
		return text
	}
	return printable(text, most)
}

// printable returns a record's text, safe for a terminal and at most so many bytes long.
func printable(text string, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) { // bidirectional marks too
			return '.'
		}
		return r
	}, text)
	if cut {
		text += "..."
	}
	return text
}

// withoutEscapes makes the texts and errors among arguments printable, as they may hold what a sender wrote. Errors may have
// several lines.
func withoutEscapes(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = printable(arg, len(arg))
		case error:
			lines := strings.Split(arg.Error(), "\n")
			for j, line := range lines {
				lines[j] = printable(line, len(line))
			}
			args[i] = strings.Join(lines, "\n")
		}
	}
	return args
}
