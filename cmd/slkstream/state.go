package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/admin"
)

var stateCommand = command{
	name: "state", short: "show, reset, discard, export or import what streams remember",
	of: []command{
		{
			name:  "state show",
			short: "show what a stage's streams remember",
			long: "show lists the streams in a stage's state topic: when each was saved, episodes answered, the offset learned up to, classes,\n" +
				"clusters and size. It lacks what a running stage has learned since. A stage that runs on this machine, at --listen, is asked\n" +
				"how much it has answered by now.\n" +
				"With --stream it lists the classes of that stream.",
			run: onKafka(showState),
		},
		{
			name:  "state identities",
			short: "show what several streams have seen",
			long: "identities compares the clusters that streams have found (run --discover), less what all clusters of a stream have in common,\n" +
				"and lists those of one thing that several streams have seen: whether a stranger of one camera was at another. With --stream\n" +
				"it lists what that stream shares with others. It goes by what is saved, and is as good as the embedder is over cameras.",
			example: "  slkstream state identities --stream cam-3",
			run:     onKafka(showIdentities),
		},
		{
			name:  "state reset",
			short: "make streams forget what they have learned",
			long: "reset makes streams forget what they have learned: one with --stream, one class with --class. With --labels it writes a record to\n" +
				"the labels topic, which a running stage obeys from each stream's next episode on. Without it the stage must not be\n" +
				"running, and its state topic is changed. Results stay as they are.",
			run: onKafka(resetState),
		},
		{
			name:  "state discard",
			short: "delete state that this version cannot read",
			long: "discard deletes the records of a stage's state that this version cannot read: damaged ones, and those\n" +
				"of other versions. A stage leaves such records alone, and does not take over a partition whose\n" +
				"journal is one of them until the version that wrote it is back or discard has run. Items since the\n" +
				"last readable journal may then be answered again. The stage may be running.",
			run: onKafka(discardState),
		},
		{
			name: "state export", args: "FILE",
			short: "write what streams remember to a file",
			long: "export writes what a stage's streams remember to a file: one with --stream. The file\n" +
				"holds what is saved; stop the stage first, so that it holds all that they have learned.",
			example: "  slkstream state export cam-7.state --stream cam-7",
			run:     onKafka(exportState),
		},
		{
			name: "state import", args: "FILE",
			short: "restore what streams remember from a file",
			long: "import restores what export wrote: one stream with --stream, else all. The stage must\n" +
				"not be running. A file that is damaged or of a newer version, an input of another number of\n" +
				"partitions, and a stream that was saved after the export (unless --force) refuse the whole\n" +
				"import. With --in the memory goes to another input, as when a topic got a new name.",
			example: "  slkstream state import cam-7.state\n" +
				"  slkstream state import all.state --in embeddings-v2",
			run: importState,
		},
	},
}

func showState(ctx context.Context, c *call, client *topic.Client) error {
	list, faults, err := admin.ReadState(ctx, client, c.Config.Topics.StateTopic(), c.Config.Topics.Group)
	if err != nil {
		return err
	}
	c.warnOf(list, faults)
	stream, class := c.Config.Select.Stream, c.Config.Select.Class
	header := "TOPIC\tPARTITION\tSTREAM\tMODEL\tSAVED\tEPISODES\tSAVED TO\tANSWERED TO\t" +
		"CLASSES\tCLUSTERS\tMETRIC\tBYTES"
	if stream != "" {
		header = "TOPIC\tPARTITION\tSTREAM\tCLASS\tEXAMPLES\tLEARNED MASS\tSHARE"
	}
	if stream != "" && !slices.ContainsFunc(list, func(r admin.Remembered) bool { return r.Stream == stream }) {
		return c.noStream()
	}
	p := newList(c, header)
	for _, r := range list {
		m := &r.Memory
		switch {
		case r.Err != nil: // logged
		case stream == "" && r.Saved.IsZero():
			p.print(nil, "%s\t%d\t%s\t%s\tnot yet\t-\t-\t%s\t-\t-\t-\t-", r.Topic, r.Partition,
				r.Stream, r.Model, offset(r.Answered))
		case stream == "":
			p.print(nil, "%s\t%d\t%s\t%s\t%s\t%d\t%s\t%s\t%d\t%d\t%t\t%d", r.Topic, r.Partition,
				r.Stream, r.Model, ago(r.Saved), m.Episode, offset(r.Learned), offset(r.Answered), len(m.Classes),
				len(m.Clusters), m.Metric, m.Bytes)
		case stream == r.Stream:
			for _, k := range m.Classes {
				if class == "" || class == k.Class {
					p.print(nil, "%s\t%d\t%s\t%s\t%d\t%.1f\t%.3f", r.Topic, r.Partition, r.Stream, k.Class,
						k.Examples, k.Mass, k.Proportion)
				}
			}
		}
	}
	if err := p.close(); err != nil {
		return err
	}
	sayLive(ctx, c, list)
	return nil
}

func showIdentities(ctx context.Context, c *call, client *topic.Client) error {
	list, faults, err := admin.ReadState(ctx, client, c.Config.Topics.StateTopic(), c.Config.Topics.Group)
	if err != nil {
		return err
	}
	c.warnOf(list, faults)
	of := c.Config.Select.Stream
	if of != "" && !slices.ContainsFunc(list, func(r admin.Remembered) bool { return r.Stream == of }) {
		return c.noStream()
	}
	p := newList(c, "IDENTITY\tSTREAM\tCLUSTER\tLABEL\tITEMS")
	for _, seen := range admin.Identities(list, of) {
		p.print(seen, "%d\t%s\t%s\t%s\t%d", seen.Identity, seen.Stream, seen.Cluster, seen.Label, seen.Items)
	}
	return p.close()
}

// warnOf logs what of the state cannot be read.
func (c *call) warnOf(list []admin.Remembered, faults []error) {
	for _, fault := range faults {
		c.Log.Warn("a state record cannot be read", "error", fault)
	}
	for _, r := range list {
		if r.Err != nil {
			c.Log.Warn("a stream's state cannot be read", "stream", r.Stream, "topic", r.Topic, "partition", r.Partition,
				"error", r.Err)
		}
	}
}

// noStream is the error of a stream that is in no saved state.
func (c *call) noStream() error {
	t := &c.Config.Topics
	return fmt.Errorf("state topic %s remembers no such stream of group %s", t.StateTopic(), t.Group)
}

// sayLive logs when the listed state was saved and, if the group's stage runs on this machine,
// its present progress.
func sayLive(ctx context.Context, c *call, list []admin.Remembered) {
	last := "nothing yet"
	if len(list) > 0 {
		newest := slices.MaxFunc(list, func(a, b admin.Remembered) int { return a.Saved.Compare(b.Saved) })
		if !newest.Saved.IsZero() {
			last = ago(newest.Saved)
		}
	}
	var now struct {
		Title  string           `json:"title"`
		Status pipeline.Summary `json:"status"`
	}
	err := askStage(ctx, c, c.Config.Listen.Address, "/api/state", nil, &now)
	const what = "the table shows what the streams had learned when they were last saved; "
	if err != nil || now.Title != groupTitle(c.Config.Topics.Group) {
		c.Log.Info(what+"no stage of the group answers at --listen, to say what was answered since",
			"saved_last", last, "listen", c.Config.Listen.Address)
		return
	}
	c.Log.Info(what+"the running stage saves each changed stream every --state-interval",
		"saved_last", last, "answered_by_now", now.Status.Answered, "episodes_by_now", now.Status.Episodes,
		"streams_by_now", now.Status.Streams)
	for _, t := range now.Status.Troubles {
		c.Log.Warn("the stage is in trouble: "+t.What, "cause", t.Cause, "do", t.Do)
	}
}

// groupTitle is the title by which a stage's page names its group.
func groupTitle(group string) string { return "group " + group }

// ago formats the time since at.
func ago(at time.Time) string {
	past := max(time.Since(at), 0)
	if past < time.Minute {
		return fmt.Sprintf("%.0f s ago", past.Seconds())
	}
	return strings.TrimSuffix(past.Round(time.Minute).String(), "0s") + " ago"
}

// offset formats a position for people.
func offset(p record.Position) string {
	switch {
	case p.Offset < 0:
		return "-"
	case p.Object < 0:
		return fmt.Sprint(p.Offset)
	}
	return fmt.Sprintf("%d/%d", p.Offset, p.Object)
}

func discardState(ctx context.Context, c *call, client *topic.Client) error {
	t := &c.Config.Topics
	n, err := admin.DiscardState(ctx, client, t.Group, t.StateTopic())
	if err == nil {
		c.Log.Info("state records deleted that cannot be read", "count", n, "topic", t.StateTopic())
	}
	return err
}

func exportState(ctx context.Context, c *call, client *topic.Client) error {
	t, path := &c.Config.Topics, c.Args[0]
	file, err := createFile(c, "export", path)
	if err != nil {
		return err
	}
	defer file.Discard()
	list, err := admin.ExportState(ctx, client, t.Group, t.StateTopic(), c.Config.Select.Stream)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return c.noStream()
	}
	if err := admin.WriteExport(file, list); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := file.Commit(0o600); err != nil {
		return err
	}
	c.Log.Info("exported", "streams", len(list), "file", path)
	return nil
}

func importState(ctx context.Context, c *call) error {
	t := &c.Config.Topics
	input := ""
	switch len(t.In) {
	case 0:
	case 1:
		input = t.In[0]
	default:
		return usagef("in is given %d times: import for one input at a time", len(t.In))
	}
	file, err := os.Open(c.Args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	list, err := admin.ReadExport(file, c.Config.Select.Stream)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Args[0], err)
	}
	if len(list) == 0 {
		return fmt.Errorf("%s holds no such stream", c.Args[0])
	}
	client, err := c.kafka(ctx)
	if err != nil {
		return err
	}
	err = admin.ImportState(ctx, client, t.Group, t.StateTopic(), input, list, c.Config.Change.Force)
	switch {
	case errors.Is(err, admin.ErrRunning):
		return fmt.Errorf("%w: stop it first", err)
	case errors.Is(err, admin.ErrNewer):
		return fmt.Errorf("%w: --force puts the file's memory above it", err)
	case err == nil:
		c.Log.Info("imported: the streams go on with it when the stage starts", "streams", len(list),
			"file", c.Args[0])
	}
	return err
}

func resetState(ctx context.Context, c *call, client *topic.Client) error {
	s, t := c.Config.Select, &c.Config.Topics
	if t.Labels != "" {
		order := record.ResetRecord(t.Labels, record.Reset{Stream: s.Stream, Class: s.Class})
		if err := c.writeLabels(ctx, client, order); err != nil {
			return err
		}
		c.Log.Info("reset: it takes effect with each stream's next episode", "topic", t.Labels,
			"stream", cmp.Or(s.Stream, "all"), "class", cmp.Or(s.Class, "all"))
		return nil
	}
	if s.Class != "" {
		return usagef("class %q: a single class is reset through the labels topic: give --labels", s.Class)
	}
	n, err := admin.ResetState(ctx, client, t.Group, t.StateTopic(), s.Stream)
	if errors.Is(err, admin.ErrRunning) {
		return fmt.Errorf("%w: stop it first, or give --labels, so that the order reaches it", err)
	}
	if err != nil {
		return err
	}
	if n == 0 && s.Stream != "" {
		return c.noStream()
	}
	c.Log.Info("streams reset", "count", n, "topic", t.StateTopic())
	return nil
}
