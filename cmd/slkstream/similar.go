package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/web"
)

var similarCommand = command{
	name: "similar", args: "[HOST:PORT...]",
	short: "ask running stages for the recent items most like an item, with their labels",
	long: "similar asks the stages that listen at the given addresses, or the one at --listen, for the\n" +
		"recent items most like the item of --id, the nearest first, after the item itself. Each stage knows the\n" +
		"items that it answered itself, as far back as --recent reaches. DISTANCE is squared, between vectors\n" +
		"of length one: 0 is the same direction. IDENTITY, with --identities, is what streams share, and those that\n" +
		"have seen it. If a stage does not answer, similar prints what the others have, names it, and fails.",
	example: "  slkstream similar --id picture-001200 --count 10\n" +
		"  slkstream similar --id door/0/41 stage-1:8070 stage-2:8070",
	run: similar,
}

// distance is 0 for the item itself.
func distance(v web.RecentView) float64 {
	if v.Distance == nil {
		return 0
	}
	return *v.Distance
}

// identityOf is an item's identity and the streams in which it has been; "": none.
func identityOf(v *web.RecentView) string {
	if v.Identity == "" {
		return ""
	}
	return v.Identity + " on " + strings.Join(v.IdentityStreams, ", ")
}

func similar(ctx context.Context, c *call) error {
	stages := c.Args
	if len(stages) == 0 {
		stages = []string{c.Config.Listen.Address}
	}
	question := map[string]any{"id": c.Config.Select.ID, "count": c.Config.Select.Count}
	if since := c.Config.Select.After; !since.IsZero() {
		question["since"] = since
	}
	// One of the stages has the item. The others are queried with its vector.
	var asked *web.RecentView
	var found []web.RecentView
	var faults []error
	for i, address := range stages {
		answer, err := askSimilar(ctx, c, address, question)
		if err == nil {
			asked, found, stages = answer.Item, answer.Items, slices.Delete(slices.Clone(stages), i, i+1)
			break
		}
		faults = append(faults, err)
	}
	if asked == nil {
		return errors.Join(faults...)
	}
	delete(question, "id")
	question["vector"], question["model"] = asked.Vector, asked.Model
	faults = nil
	for _, address := range stages {
		answer, err := askSimilar(ctx, c, address, question)
		if err != nil {
			faults = append(faults, fmt.Errorf("the items of %s are missing: %w", address, err))
			continue
		}
		found = append(found, answer.Items...)
	}
	slices.SortStableFunc(found, func(a, b web.RecentView) int { return cmp.Compare(distance(a), distance(b)) })
	found = found[:min(len(found), c.Config.Select.Count)]
	asked.Vector = ""
	p := newList(c, "DISTANCE\tTIME\tSTREAM\tITEM\tLABEL\tCONFIDENCE\tIDENTITY")
	for _, it := range append([]web.RecentView{*asked}, found...) {
		label := it.Label
		if it.Unknown {
			label = "? " + label
		}
		if err := p.print(nil, "%.3f\t%s\t%s\t%s\t%s\t%.0f %%\t%s", distance(it), it.Time.Local().Format(time.DateTime),
			it.Stream, it.ID, label, 100*it.Confidence, identityOf(&it)); err != nil {
			return err
		}
	}
	return errors.Join(append(faults, p.close())...)
}

func askSimilar(ctx context.Context, c *call, address string, question map[string]any) (*web.SimilarView, error) {
	answer := &web.SimilarView{}
	if err := askStage(ctx, c, address, "/api/similar", question, answer); err != nil {
		return nil, err
	}
	if _, byID := question["id"]; byID && answer.Item == nil {
		return nil, fmt.Errorf("%s answers without the item: is it a stage of this version?", address)
	}
	return answer, nil
}
