package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profileStage runs the passthrough and the stage a few times each without measuring waits. It writes a CPU
// profile of both parts of each run (NAME-ROUND-new.prof, NAME-ROUND-settled.prof) into a folder, and logs
// the cost per record. `go tool pprof` adds up the rounds' profiles that it is given together.
func profileStage(ctx context.Context, k *kafkaBench, folder string, rounds int) error {
	for round := range rounds {
		for _, run := range []struct {
			name string
			do   func() error
		}{
			{"passthrough", func() error { _, err := k.passThrough(ctx, nil, 0, false); return err }},
			{"at-least-once", func() error { _, err := k.stage(ctx, false, 0); return err }},
			{"exactly-once", func() error { _, err := k.stage(ctx, true, 0); return err }},
			{"as-run", func() error { _, err := k.stageAsRun(ctx); return err }},
		} {
			k.profileAs(folder, run.name, round+1)
			if err := run.do(); err != nil {
				return err
			}
			slog.Info("CPU us a record, all of the process", "run", run.name, "new", 1e6*k.spentNew, "settled",
				1e6*k.spent)
		}
	}
	return writeAllocations(filepath.Join(folder, "allocations.prof"))
}

// writeAllocations writes the allocation profile of all runs together.
func writeAllocations(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}

// profileAs has the next run profiled, into a folder; "": it is not.
func (k *kafkaBench) profileAs(folder, run string, round int) {
	if k.profile = ""; folder != "" {
		k.profile = filepath.Join(folder, fmt.Sprintf("%s-%d", run, round))
	}
}

// profiled starts or stops the profile of a part of a run.
func (k *kafkaBench) profiled(part string, begins bool) error {
	if k.profile == "" {
		return nil
	}
	if !begins {
		pprof.StopCPUProfile()
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(k.profile), 0o755); err != nil {
		return err
	}
	f, err := os.Create(k.profile + "-" + part + ".prof")
	if err != nil {
		return err
	}
	return pprof.StartCPUProfile(f)
}
