package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
)

// batterySection scores the defaults on every set in every order that is real for it, beside rivals that have the
// same labels at the same time.
var batterySection = section{
	name: "battery", title: "Every set, in every order that is real for it", alone: true,
	run: func(ctx context.Context, b *bench) error {
		root, forget, err := b.Root()
		if err != nil {
			return err
		}
		defer forget()
		run := battery{seeds: 3, rows: 3000, recorded: 10_000, every: 1}
		if b.Quick {
			run = battery{seeds: 1, rows: 1000, recorded: 2500, every: 2}
		}
		if err := run.measure(ctx, root); err != nil {
			return err
		}
		b.battery(&run)
		if b.Against != "" {
			if err := b.against(run.done); err != nil {
				return err
			}
		}
		if b.Rows == "" {
			return nil
		}
		return writeRows(b.Rows, run.done)
	},
}

// battery is a run of every cell.
type battery struct {
	seeds    int
	rows     int // of a set, at most
	recorded int // of a set that was recorded in an order, at most
	every    int // one in so many of the cells is measured
	done     []*evaluate.BatteryRow
}

// measure scores every cell below root, several at once. Rows are in the order of the cells.
func (r *battery) measure(ctx context.Context, root string) error {
	folders, err := evaluate.FindSets(root)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, folder := range folders {
		set, err := evaluate.ReadSet(folder)
		if err != nil {
			return err
		}
		if set.Name, err = filepath.Rel(root, folder); err != nil {
			return err
		}
		most := r.rows
		if set.Frames != nil || set.Order != nil {
			most = r.recorded
		}
		set = set.Part(most)
		var rows []**evaluate.BatteryRow
		from := time.Now()
		var own sync.WaitGroup
		for _, cell := range evaluate.BatteryCells(set) {
			if h := fnv.New32a(); r.every > 1 {
				fmt.Fprint(h, cell)
				if h.Sum32()>>8%uint32(r.every) != 0 {
					continue
				}
			}
			for seed := range r.seeds {
				row := new(*evaluate.BatteryRow)
				rows = append(rows, row)
				turns <- struct{}{}
				own.Go(func() {
					defer func() { <-turns }()
					var err error
					if ctx.Err() == nil {
						if *row, err = cell.Run(ctx, set, uint64(seed)+1); err != nil {
							stop(err)
						}
					}
				})
			}
		}
		own.Wait()
		if err := context.Cause(ctx); err != nil {
			return err
		}
		for _, row := range rows {
			r.done = append(r.done, *row)
		}
		slog.Info("measured", "set", set.Name, "items", set.N, "rows", len(rows), "took", time.Since(from).Round(time.Second))
	}
	return nil
}

func writeRows(path string, rows []*evaluate.BatteryRow) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(out)
	to := json.NewEncoder(buffered)
	for _, row := range rows {
		if err := to.Encode(row); err != nil {
			return err
		}
	}
	return errors.Join(buffered.Flush(), out.Close())
}

func readRows(path string) (rows []*evaluate.BatteryRow, err error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for from := json.NewDecoder(in); ; {
		row := new(evaluate.BatteryRow)
		if err := from.Decode(row); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", path, len(rows)+1, err)
		}
		rows = append(rows, row)
	}
}
