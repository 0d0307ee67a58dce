package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// tail --to latest ends at the end of the topic, whatever count was given, and shortens long texts.
func TestTailToLatest(t *testing.T) {
	dir, _ := embedded(t)
	var lines strings.Builder
	picture := "data:image/png;base64," + strings.Repeat("iVBORw0K", 500)
	const items = 30
	for i := range items {
		fmt.Fprintf(&lines, `{"id":"%d","vector":[1,%d],"attributes":{"image":%q,"box":[1,{"note":%q}],"n":12345678901234567890}}`+"\n",
			i, i, picture, picture)
	}
	input := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(input, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	in := " --embedded-dir " + dir
	code, _, messages := runLine(t, strings.Fields("feed --input "+input+" --out items"+in)...)
	if code != exitDone {
		t.Fatal(messages)
	}
	code, _, messages = runLine(t, strings.Fields("tail itmes --to latest"+in)...)
	if code != exitFailed || !strings.Contains(messages, "topic itmes does not exist") {
		t.Errorf("exit %d: %s", code, messages)
	}
	for line, want := range map[string]struct {
		lines int
		long  bool
	}{
		"tail items --to latest --count 600":            {items, false},
		"tail items --to latest":                        {items, false},
		"tail items --to latest --count 7 --full":       {7, true},
		"tail items --from latest --to latest":          {0, false},
		"tail items items --to latest":                  {2 * items, false},
		"tail items --from earliest --to 0":             {0, false},
		"tail items --from earliest --to latest --full": {items, true},
	} {
		code, out, messages := runLine(t, strings.Fields(line+in)...)
		if code != exitDone || strings.Count(out, "\n") != want.lines {
			t.Errorf("%s: exit %d, %d lines, want %d: %s", line, code, strings.Count(out, "\n"), want.lines, messages)
		}
		if want.lines > 0 && (strings.Contains(out, picture) != want.long || !strings.Contains(out, "12345678901234567890") ||
			!want.long && !strings.Contains(out, fmt.Sprintf("(%d bytes; --full shows all)", len(picture)))) {
			t.Errorf("%s: %.600s", line, out)
		}
	}
}

// A first answer is marked in the table; its result is not.
func TestTailMarksFirstAnswers(t *testing.T) {
	for _, c := range []struct{ fields, want string }{
		{`"settled":false,`, "~ milk"}, {`"episode":7,`, "  milk"}, {`"settled":false,"unknown":true,`, "~ ? milk"},
	} {
		raw := &record.Raw{Value: []byte(`{"id":"in/0/42","stream":"cam-7",` + c.fields + `"label":"milk","confidence":0.9}`)}
		var out strings.Builder
		p := &tailPrinter{out: &out, table: true}
		if took, err := p.take(raw); err != nil || !took || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: %t, %v: %s", c.fields, took, err, out.String())
		}
	}
}

// A record whose members have other types than results have is shown as it is.
func TestTailShowsOtherJSON(t *testing.T) {
	for _, value := range []string{
		`{"id":5,"vector":[1]}`, `{"time":"today","stream":"a"}`, `[1,"x"]`, `7`, `{"episode":"x"}`,
	} {
		var out strings.Builder
		p := &tailPrinter{out: &out}
		took, err := p.take(&record.Raw{Value: []byte(value)})
		if err != nil || !took || out.String() != value+"\n" {
			t.Errorf("%s: %t, %v: %s", value, took, err, out.String())
		}
	}
}

// A correction is shown with both labels, and an empty topic is said to be waited for.
func TestTailOfCorrections(t *testing.T) {
	c := record.Correction{
		ID: "in/0/1", Old: record.Called{Label: "milk", Confidence: .7}, New: record.Called{Label: "tea", Confidence: .9},
		Cause: record.Cause{Kind: "taught", By: "kim"},
	}
	var out strings.Builder
	p := &tailPrinter{out: &out, table: true}
	for _, label := range []string{"tea", ""} {
		c.New.Label = label
		value := c.Out("corrections", nil)
		if _, err := p.take(&record.Raw{Value: value.Value}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"OLD -> NEW", "milk 70 % -> tea 90 %", "milk 70 % -> (none)", "taught kim"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	dir, client := embedded(t)
	if err := client.Ensure(t.Context(), topic.Description{Name: "empty", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	messages := &stopper{wanted: "no records yet: waiting for the first", stop: stop}
	if code := execute(ctx, []string{"tail", "empty", "--embedded-dir", dir}, io.Discard, messages); code != exitDone {
		t.Errorf("exit %d: %s", code, messages.String())
	}
}

// stopper calls stop once the wanted text was written to it.
type stopper struct {
	strings.Builder
	wanted string
	stop   func()
}

func (s *stopper) Write(b []byte) (int, error) {
	n, err := s.Builder.Write(b)
	if strings.Contains(s.String(), s.wanted) {
		s.stop()
	}
	return n, err
}
