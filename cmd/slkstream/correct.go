package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/backfill"
	"github.com/slkstream/slkstream/pipeline/labels"
)

var correctCommand = command{
	name:  "correct",
	short: "answer a range again with today's labels, and write the labels that differ",
	long: "correct answers the range from --since to --to again, with today's labels and what streams\n" +
		"have learned. It compares with the existing results and corrections by id, and writes the\n" +
		"differences to the corrections topic. Any number of processes share the work, as in a\n" +
		"backfill, and a killed job resumes. A summary counts the items by old and new label.",
	example: "  slkstream correct --in in --out results --labels labels --dry-run",
	run:     onKafka(correct),
}

// correctionRow is one row of the summary.
type correctionRow struct {
	Was   string `json:"was"`
	Is    string `json:"is"`
	Count int64  `json:"count"`
}

// drop deletes the state topic of a dry run, which is its own and of no use to anything else.
func (c *call) drop(ctx context.Context, client *topic.Client, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := client.Delete(ctx, name); err != nil {
		c.Log.Warn("the state topic of the dry run stays", "error", err)
	}
}

// sayWhatNames tells how examples name items, if none does: people take a sender's id for one that does.
func (c *call) sayWhatNames(ctx context.Context, client *topic.Client) error {
	entries, err := c.labelEntries(ctx, client)
	if err != nil {
		return err
	}
	taught, named := 0, false
	for i := range entries {
		if e := &entries[i]; e.Holds && e.Teach != nil {
			taught, named = taught+1, named || namesItem(e.Key)
		}
	}
	if taught > 0 && !named {
		c.Log.Info(
			"no example names an item itself: for that its id is \"item:\" and the id of the item's result; an item whose own "+
				"record had a label is named by its id and its stream, which teach --stream STREAM gives to rows that have none",
			"examples",
			taught,
		)
	}
	return nil
}

func correct(ctx context.Context, c *call, client *topic.Client) error {
	t, b := &c.Config.Topics, &c.Config.Backfill
	if t.OutFormat != "json" && t.OutFormat != "cloudevents" {
		return usagef("out-format is %s: results are compared as json or cloudevents", t.OutFormat)
	}
	if len(c.Config.Stage.Support) == 0 {
		entries, err := c.labelEntries(ctx, client)
		if err != nil {
			return err
		}
		says := func(e labels.Entry) bool { return e.Holds && (e.Teach != nil || e.Not != nil || e.Name != nil) }
		if !slices.ContainsFunc(entries, says) {
			return fmt.Errorf("labels topic %s holds nothing to correct by: everything would be called a cluster; "+
				"give the --support of the stage", t.Labels)
		}
	}
	from := c.Config.Select.After.UTC().Format(time.RFC3339)
	if b.FromState == "" {
		if _, err := client.Partitions(ctx, t.Group+"-state"); err == nil {
			b.FromState = t.Group
		}
	}
	if b.Job == "" {
		spans, err := client.SpansOf(ctx, false, t.Labels)
		if err != nil {
			return fmt.Errorf("labels topic %s: %w", t.Labels, err)
		}
		offsets := int64(0)
		for _, span := range spans {
			offsets += span.To
		}
		b.Job = "labels-" + strconv.FormatInt(offsets, 10)
	}
	dry := c.Config.Change.DryRun
	if dry { // a dry run is not continued
		b.Job += "-dry-" + strconv.FormatUint(rand.Uint64(), 36)
	}
	state := t.JobGroup("correct", b.Job) + "-state"
	job := backfill.Job{Name: b.Job, From: from, To: b.To, Asked: c.Config.Select.Since}
	compare := &backfill.Comparison{DryRun: dry}
	err := answerRange(ctx, c, client, job, compare)
	if dry && t.State == "" {
		c.drop(ctx, client, state)
	}
	if errors.Is(err, backfill.ErrTooLong) {
		return fmt.Errorf("%w: correct it in parts, with --since and --to", err)
	}
	if err != nil {
		return err
	}
	changes, seen, unknown := compare.Differences()
	switch {
	case changes == nil: // the job was finished already
		return nil
	case len(changes) == 0 && seen == 0:
		c.Log.Warn("this process has answered no item again: if the records cannot be read, give correct the settings by which " +
			"run reads them, and another --job")
		return nil
	case len(changes) == 0:
		c.Log.Info("no item is called otherwise than its result says")
		return c.sayWhatNames(ctx, client)
	}
	p := newList(c, "WAS\tIS\tITEMS")
	most := func(a, b backfill.Relabelled) int {
		return cmp.Or(cmp.Compare(changes[b], changes[a]), cmp.Compare(a.Was, b.Was), cmp.Compare(a.Is, b.Is))
	}
	for _, change := range slices.SortedFunc(maps.Keys(changes), most) {
		r := correctionRow{change.Was, change.Is, changes[change]}
		p.print(r, "%s\t%s\t%d", r.Was, r.Is, r.Count)
	}
	if unknown > 0 {
		c.Log.Warn("items without a result are not corrected", "items", unknown)
	}
	return p.close()
}
