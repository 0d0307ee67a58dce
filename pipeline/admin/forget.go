package admin

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// ForgetName removes a name and all labels with it from the labels topic, by which examples of the support are out of
// force too. It returns a receipt: the records taken back, the streams whose saved state holds the name, and what may
// still hold it: the files of the support, and topics of those named in all. The error wraps record.ErrNoName if the
// name is not in use.
func ForgetName(
	ctx context.Context, client *topic.Client, labelsTopic, stateTopic string, all []string, support []taught.Example,
	n record.Name, log *slog.Logger,
) (receipt []record.Receipt, err error) {
	entries, err := labels.ReadEntries(ctx, client, labelsTopic, record.Options{}, log)
	if err != nil {
		return nil, err
	}
	f := newForgetting(labelsTopic, entries, n)
	files := f.supporting(entries, support)
	states, faults, err := ReadState(ctx, client, stateTopic, "")
	if err != nil && !topic.IsMissing(err) {
		return nil, err
	}
	for _, fault := range faults {
		log.Warn("a state record cannot be read", "error", fault)
	}
	what := fmt.Sprintf("taken back: examples %d, rejections %d, names %d", f.examples, f.rejections, f.names)
	if called := f.called(); len(called) > 1 {
		what += ", called " + strings.Join(called, ", ")
	}
	receipt = append(receipt, record.Receipt{Where: "labels in force", What: what, Until: "now"})
	for _, s := range states {
		class := func(k stream.ClassSummary) bool { return f.concerns(s.Stream, k.Class) }
		cluster := func(k stream.ClusterSummary) bool { return f.concerns(s.Stream, k.Label) }
		if slices.ContainsFunc(s.Memory.Classes, class) || slices.ContainsFunc(s.Memory.Clusters, cluster) {
			receipt = append(receipt, record.Receipt{
				Where: fmt.Sprintf("memory of stream %s of %s/%d", s.Stream, s.Topic, s.Partition),
				What:  "learned of it", Until: "the stream's next episode and snapshot",
			})
		}
	}
	if f.examples+f.rejections+f.names+files == 0 && len(receipt) == 1 {
		return nil, fmt.Errorf("%w: labels topic %s, state topic %s and %d examples of support have no %q that is in force",
			record.ErrNoName, labelsTopic, stateTopic, len(support), n.Name)
	}
	if files > 0 {
		receipt = append(receipt, record.Receipt{
			Where: "files of --support", What: fmt.Sprintf("%d examples, out of force from now on", files),
			Until: "you remove them there",
		})
	}
	if limit := client.RecordLimit(ctx, labelsTopic); limit > 0 && f.records[0].Size() > limit {
		return nil, fmt.Errorf("the record that forgets %q and the %d classes called so has %d bytes, and "+
			"topic %s takes %d: raise its max.message.bytes, or forget some of these classes first, such as %q",
			n.Name, len(f.classes)-1, f.records[0].Size(), labelsTopic, limit, f.classes[len(f.classes)-1].Class)
	}
	if err := labels.Write(ctx, client, f.records); err != nil {
		return nil, fmt.Errorf("topic %s: %w", labelsTopic, err)
	}
	receipt = append(receipt, record.Receipt{
		Where: "recent items of every process", What: "those called so", Until: "a second from now",
	})
	for _, name := range all {
		left, err := remains(ctx, client, name)
		if err != nil {
			return receipt, err
		}
		receipt = append(receipt, left...)
	}
	return receipt, nil
}

// remains lists the offsets before which a topic may hold records with a name, and until when.
func remains(ctx context.Context, client *topic.Client, name string) (rows []record.Receipt, err error) {
	d, err := client.Describe(ctx, name)
	if topic.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for p := range int32(d.Partitions) {
		first, end, err := client.Bounds(ctx, name, p, false)
		if err != nil {
			return nil, err
		}
		if first < end {
			rows = append(rows, record.Receipt{
				Where: fmt.Sprintf("topic %s/%d", name, p),
				What:  fmt.Sprintf("records before offset %d may hold it", end), Until: until(d.Settings),
			})
		}
	}
	return rows, nil
}

// until says when records that a topic holds now will be deleted, by its settings.
func until(settings map[string]string) string {
	if settings == nil {
		return "not known: its settings cannot be read"
	}
	var when []string
	if strings.Contains(settings["cleanup.policy"], "compact") {
		when = append(when, "compaction, after a newer record of the key")
	}
	if policy := settings["cleanup.policy"]; policy == "" || strings.Contains(policy, "delete") {
		ms, err := strconv.ParseInt(settings["retention.ms"], 10, 64)
		// Many write the greatest number for "for ever".
		const century = 100 * 365 * 24 * int64(time.Hour/time.Millisecond)
		if err != nil || ms < 0 || ms > century {
			when = append(when, "for ever, by its retention.ms")
		} else {
			gone := time.Now().Add(time.Duration(ms) * time.Millisecond)
			when = append(when, gone.UTC().Format("2006-01-02 15:04 UTC")+" and a segment more")
		}
	}
	return strings.Join(when, "; ")
}

// forgetting holds the records that forget a name.
type forgetting struct {
	records []record.Out // written to the labels topic in this order
	// Counts of records taken back.
	examples, rejections, names int
	classes                     []record.CalledSo // the name, and the classes that were called by it
}

// concerns says whether a class is forgotten in a stream, or with "" in any.
func (f *forgetting) concerns(in, class string) bool {
	return slices.ContainsFunc(f.classes, func(c record.CalledSo) bool {
		return c.Class == class && (c.Stream == in || c.Stream == "" || in == "")
	})
}

// called returns the name and the classes, each once.
func (f *forgetting) called() (names []string) {
	for _, c := range f.classes {
		if !slices.Contains(names, c.Class) {
			names = append(names, c.Class)
		}
	}
	return names
}

// supporting counts the examples of the support that are forgotten: those in force, which the labels topic neither
// replaces nor has forgotten before.
func (f *forgetting) supporting(entries []labels.Entry, support []taught.Example) (n int) {
	taught, before := map[string]bool{}, map[string]bool{}
	for i := range entries {
		e := &entries[i]
		taught[e.Key] = true
		if e.Holds && e.Name != nil && e.Name.Into == "" {
			before[e.Name.Name] = true
			for _, c := range e.Name.Called {
				before[c.Class] = before[c.Class] || c.Stream == ""
			}
		}
	}
	for i := range support {
		e := &support[i]
		if !taught[e.ID] && !before[e.Label] && slices.Contains(f.classes, record.CalledSo{Class: e.Label}) {
			n++
		}
	}
	return n
}

// newForgetting computes how to forget a name: a record that cuts everything said before about it and the
// classes called so, and tombstones, so that compaction deletes the rest.
func newForgetting(topic string, entries []labels.Entry, n record.Name) forgetting {
	n.Into, n.Stream, n.Called = "", "", nil
	f := forgetting{}
	// A name that is not in force, as it would close a circle, leads to no other.
	gives := func(e *labels.Entry) bool {
		return e.Name != nil && e.Name.Into != "" && (slices.Contains(e.Called, n.Name) || e.Name.Into == n.Name)
	}
	for i := range entries {
		e := &entries[i]
		if !e.Holds || !gives(e) || e.Unused != "" || e.Name.Name == n.Name {
			continue
		}
		n.Called = append(n.Called, record.CalledSo{Class: e.Name.Name, Stream: e.Name.Stream})
	}
	f.classes = append([]record.CalledSo{{Class: n.Name}}, n.Called...)
	n.Called = append(n.Called, forgottenBefore(entries, n.Name)...)
	f.records = []record.Out{record.NameRecord(topic, &n)}
	for i := range entries {
		e := &entries[i]
		if !e.Holds {
			continue
		}
		concerned := func(class string) bool { return f.concerns(e.Stream(), class) }
		switch {
		case e.Teach != nil && (concerned(e.Teach.Label) || slices.Contains(e.Called, n.Name)):
			f.examples++
			f.records = append(f.records, record.ForgetWith(topic, e.Key, n.Name))
			continue
		case e.Not != nil && slices.ContainsFunc(e.Not.Not, concerned):
			f.rejections++
			left := *e.Not
			left.Not = slices.DeleteFunc(slices.Clone(left.Not), concerned)
			if len(left.Not) > 0 {
				f.records = append(f.records, record.Not(topic, &left))
				continue
			}
		case gives(e):
			f.names++
			if e.Key == record.NameKey(n.Name, "") {
				continue // replaced by the record that forgets the name
			}
		default:
			continue
		}
		f.records = append(f.records, record.Forget(topic, e.Key))
	}
	return f
}

// forgottenBefore returns the classes that an earlier record forgets with the name, which the next one
// replaces, without those of which something was said since.
func forgottenBefore(entries []labels.Entry, name string) []record.CalledSo {
	i := slices.IndexFunc(entries, func(e labels.Entry) bool {
		return e.Holds && e.Name != nil && e.Name.Name == name && e.Name.Into == ""
	})
	if i < 0 {
		return nil
	}
	said := map[string]bool{}
	for _, e := range entries {
		if e.Holds && e.After(&entries[i]) {
			said[e.Class()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(entries[i].Name.Called), func(c record.CalledSo) bool {
		return said[c.Class]
	})
}
