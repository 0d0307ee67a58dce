package pipeline

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/pipeline/admin"
)

// Exported memory can be imported after a reset, into another group, and under the input's new name, but does
// not replace newer memory. A file that is damaged, cut or of a newer version is refused.
func TestStateExportedAndImported(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := newFeed(61)
	in, renamed := brokertest.Topic(t, client, "in", 2, nil), brokertest.Topic(t, client, "renamed", 2, nil)
	other := brokertest.Topic(t, client, "other", 3, nil)
	const n, streams = 800, 4
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: time.Hour, Memory: 64 << 20}
	o.State, o.StateTTL = o.Group+"-state", time.Hour
	write(t, client, f.records(in, streams, n))
	write(t, client, markers(in, streams))
	stop := start(t, client, o)
	collect(t, client, o.Out, count(n))
	stop()
	episodes := func(group, of string) map[string]int64 {
		t.Helper()
		list, faults, err := admin.ReadState(ctx, client, group+"-state", group)
		if err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		held := map[string]int64{}
		for _, r := range list {
			if r.Topic == of {
				held[r.Stream] = r.Memory.Episode
			}
		}
		return held
	}
	want := episodes(o.Group, in)
	exported, err := admin.ExportState(ctx, client, o.Group, o.State, "")
	if err != nil || len(exported) != streams {
		t.Fatal(len(exported), err)
	}
	var file bytes.Buffer
	if err := admin.WriteExport(&file, exported); err != nil {
		t.Fatal(err)
	}
	whole := file.String()
	for name, bad := range map[string]string{
		"empty": "", "another file": `{"id":"a"}`, "cut": whole[:len(whole)*2/3],
		"newer":   strings.Replace(whole, `"stateVersion":1`, `"stateVersion":2`, 1),
		"changed": strings.Replace(whole, `"Bytes":"`, `"Bytes":"AAAA`, 1),
	} {
		if _, err := admin.ReadExport(strings.NewReader(bad), ""); !errors.Is(err, admin.ErrExport) {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := admin.ReadExport(strings.NewReader(whole), "")
	if err != nil || len(list) != streams {
		t.Fatal(len(list), err)
	}
	one, err := admin.ReadExport(strings.NewReader(whole), "cam-1")
	if err != nil || len(one) != 1 {
		t.Fatal(len(one), err)
	}
	bring := func(group, input string, list []admin.Exported) error {
		return admin.ImportState(ctx, client, group, group+"-state", input, list, false)
	}
	if err := bring(o.Group, other, list); !errors.Is(err, admin.ErrExport) {
		t.Errorf("into another number of partitions: %v", err)
	}
	if _, err := admin.ResetState(ctx, client, o.Group, o.State, ""); err != nil {
		t.Fatal(err)
	}
	if err := bring(o.Group, "", one); err != nil {
		t.Fatal(err)
	}
	if got := episodes(o.Group, in); got["cam-1"] != want["cam-1"] || got["cam-0"] != 0 {
		t.Errorf("after a reset: %v of %v", got, want)
	}
	if err := bring(o.Group, "", list); !errors.Is(err, admin.ErrNewer) { // cam-1 was saved after the export
		t.Errorf("above what is newer: %v", err)
	}
	if got := episodes(o.Group, in); got["cam-0"] != 0 {
		t.Errorf("a refused import was made in part: %v", got)
	}
	if err := admin.ImportState(ctx, client, o.Group, o.State, "", list, true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ group, input string }{{o.Group, renamed}, {brokertest.Name("group"), in}} {
		if err := bring(c.group, c.input, list); err != nil {
			t.Fatal(err)
		}
		of := o
		of.Group, of.In, of.State, of.Out, of.Dead = c.group, []string{c.input}, "", brokertest.Name("out"), ""
		written := n
		if c.input == renamed { // it has no records yet
			write(t, client, f.records(renamed, streams, 200))
			write(t, client, markers(renamed, streams))
			written = 200
		}
		stop := start(t, client, of)
		collect(t, client, of.Out, count(written))
		if err := bring(c.group, c.input, list); !errors.Is(err, admin.ErrRunning) {
			t.Errorf("into a running group: %v", err)
		}
		stop()
		for name, got := range episodes(c.group, c.input) {
			if got <= want[name] {
				t.Errorf("%s of %s: %d episodes, %d were brought along", name, c.input, got, want[name])
			}
		}
	}
}
