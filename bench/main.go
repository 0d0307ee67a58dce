// Command bench compares slkstream with its peers, on the same data, in the same run, with as many threads,
// and writes bench/RESULTS.md:
//
//	go run ./bench [--quick] [--data ROOT] [--only NAME,...] [--output FILE] [--profile FOLDER] [--rows FILE] [--against FILE]
//
// ROOT holds folders of X.npy and y.npy; without it the tree's sample data are used. Peers run in a virtual
// environment in bench/.venv with the versions of requirements.txt. Without Python their columns are missing,
// and the results name them. --quick is a small smoke run of one round, whose results are written to
// bench/RESULTS-quick.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// sections are the parts of RESULTS.md, in order.
var sections = []section{
	batterySection, fewShotSection, batchesSection, filesSection, learningSection, ablationSection, correctionsSection,
	streamSection, nowSection, sizeSection, relabelSection,
	streamsSection, pipelinesSection, solverSection,
	solverLargeSection, solverImagesSection, solverGrowthSection, labelsSection,
	indexSection, imagesSection, growthSection,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		slog.Error(err.Error())
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "a small smoke run, written to bench/RESULTS-quick.md")
	data := flags.String("data", "", "folder of the sets; without it the tree's own sample data")
	only := flags.String("only", "", "sections to run, of "+strings.Join(names(),
		", ")+"; the others keep what the file says")
	profile := flags.String(
		"profile",
		"",
		"folder: section stream writes CPU profiles there, logs what records cost, and leaves the results alone",
	)
	rows := flags.String("rows", "", "file to which section battery writes a JSON line for each cell and seed")
	against := flags.String("against", "", "such a file of another build: section battery compares, cell by cell")
	output := flags.String("output", "", "file to write (default bench/RESULTS.md)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	chosen := names()
	if *only != "" {
		chosen = strings.Split(*only, ",")
	}
	for _, name := range chosen {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("only: no section %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	folder, err := benchFolder()
	if err != nil {
		return err
	}
	path := *output
	if path == "" {
		path = folder + "/RESULTS.md"
		if *quick {
			path = folder + "/RESULTS-quick.md"
		}
	}
	results, err := readResults(path)
	if err != nil {
		return err
	}
	b := &bench{Quick: *quick, Data: *data, Profile: *profile, Rows: *rows, Against: *against, folder: folder}
	for _, s := range sections {
		if !slices.Contains(chosen, s.name) {
			continue
		}
		if b.peers == nil && !s.alone {
			b.peers = newPeers(ctx, folder)
		}
		slog.Info("section", "name", s.name)
		b.begin(s)
		if err := s.run(ctx, b); err != nil {
			return fmt.Errorf("section %s: %w", s.name, err)
		}
		if b.Profile != "" {
			continue
		}
		results[s.name] = b.end()
		// Write each section when it ends: an interrupted run then loses one section at most.
		if err := writeResults(path, results); err != nil {
			return err
		}
	}
	if b.Profile == "" {
		slog.Info("written", "file", path)
	}
	return nil
}

func names() []string {
	var out []string
	for _, s := range sections {
		out = append(out, s.name)
	}
	return out
}
