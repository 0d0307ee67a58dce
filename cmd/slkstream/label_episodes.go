package main

import (
	"context"
	"io"

	"github.com/slkstream/slkstream/internal/table"
)

// rowsOfFile is a run of rows of a file that is solved as one.
type rowsOfFile struct {
	vectors     []float32 // flat
	dimension   int
	ids, labels []string
}

func (r *rowsOfFile) len() int { return len(r.ids) }

func (r *rowsOfFile) add(row table.Row) {
	r.dimension = len(row.Vector)
	r.vectors = append(r.vectors, row.Vector...)
	r.ids = append(r.ids, row.ID)
	r.labels = append(r.labels, row.Label)
}

// part is the rows from, to.
func (r *rowsOfFile) part(from, to int) *rowsOfFile {
	return &rowsOfFile{r.vectors[from*r.dimension : to*r.dimension], r.dimension, r.ids[from:to], r.labels[from:to]}
}

// bytesOfRow is what a row holds beside its numbers.
const bytesOfRow = 64

// episodes cuts a file: into one episode if its rows fit into whole bytes, else into episodes of size rows.
type episodes struct {
	source table.Source
	whole  int64
	size   int
	count  int

	begun bool
	held  *rowsOfFile // read while it was not known yet whether the file fits
	used  int         // of held
}

// next is the next episode, or io.EOF after the last one.
func (e *episodes) next(ctx context.Context) (*rowsOfFile, error) {
	if !e.begun {
		e.begun, e.held = true, &rowsOfFile{}
		end, err := e.read(ctx, e.held, func(r *rowsOfFile, bytes int64) bool { return bytes > e.whole })
		if err != nil {
			return nil, err
		}
		if end && e.held.len() > 0 {
			e.used, e.count = e.held.len(), 1
			return e.held, nil
		}
	}
	var episode *rowsOfFile
	if left := e.held.len() - e.used; left >= e.size {
		episode = e.held.part(e.used, e.used+e.size)
		e.used += e.size
	} else {
		episode = &rowsOfFile{}
		if left > 0 {
			rest := e.held.part(e.used, e.held.len())
			for i := range left {
				episode.add(table.Row{ID: rest.ids[i], Label: rest.labels[i], Vector: rest.vectors[i*rest.dimension : (i+1)*rest.dimension]})
			}
		}
		e.held, e.used = &rowsOfFile{}, 0
		if _, err := e.read(ctx, episode, func(r *rowsOfFile, _ int64) bool { return r.len() >= e.size }); err != nil {
			return nil, err
		}
	}
	if episode.len() == 0 {
		return nil, io.EOF
	}
	e.count++
	return episode, nil
}

// read adds rows until there are enough, and says whether the file ended first.
func (e *episodes) read(ctx context.Context, into *rowsOfFile, enough func(*rowsOfFile, int64) bool) (end bool, err error) {
	bytes := int64(0)
	for !enough(into, bytes) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		row, err := e.source.Next()
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		into.add(row)
		bytes += int64(4*len(row.Vector) + len(row.ID) + len(row.Label) + bytesOfRow)
	}
	return false, nil
}
