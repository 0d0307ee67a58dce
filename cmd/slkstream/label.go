package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/table"
)

func newLabelCommand() *cobra.Command {
	return withSettings("label", &cobra.Command{
		Use:   "label",
		Short: "label a file of vectors",
		Long: "label gives every row of a file a label: one of those its support names, or with --k a cluster from 0 on. A file within --max-memory is\n" +
			"one solve; a larger one is labelled in episodes, in file order. The output appears whole, or not at all. --output - writes JSON Lines to stdout.",
		Example: "  slkstream label --input X.npy --support S.npy --support-labels L.npy --output y.npy\n" +
			"  slkstream label --input items.jsonl --k 10 --output clusters.jsonl",
		Args: noArguments("input"),
	}, label)
}

func label(ctx context.Context, c *call) (err error) {
	answerer, err := newAnswerer(c.Config, c.Log)
	if err != nil {
		return err
	}
	source, err := openInput(c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	output, err := createOutput(c)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	defer output.Discard()

	began, rows := time.Now(), int64(0)
	shown := newProgress(c)
	defer shown.end()
	in := &episodes{source: source, whole: int64(c.Config.Stage.MaxMemory), size: c.Config.Stage.EpisodeSize}
	for {
		episode, err := in.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		answers, err := answerer.answer(ctx, episode)
		if err != nil {
			return fmt.Errorf("rows %d to %d: %w", rows, rows+int64(episode.len())-1, err)
		}
		for i := range answers {
			answers[i].Row, answers[i].ID = rows, episode.ids[i]
			if err := output.Write(&answers[i]); err != nil {
				return err
			}
			rows++
		}
		shown.at("rows labelled", rows, source.Rows())
	}
	if rows == 0 {
		return fmt.Errorf("input: %s has no rows", c.Config.Files.Input)
	}
	if err := output.Commit(); err != nil {
		return err
	}
	shown.end()
	c.Log.Info("labelled", "rows", rows, "episodes", in.count, "output", c.Config.Files.Output, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

func createOutput(c *call) (*table.Output, error) {
	if c.Config.Files.Output == "-" {
		return table.Print(c.Out), nil
	}
	output, err := table.Create(c.Config.Files.Output, c.Config.Files.Force)
	if errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("%w; --force overwrites it", err)
	}
	return output, err
}
