package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

const correctionsTopic = "corrections"

// rename gives names, undoes them, splits a class and forgets one, and at the same time kills a stage or
// makes one join or leave, so that corrections are in flight then.
func (s *scenario) rename(ctx context.Context, i int) error {
	name := func(name, into string) record.Out {
		return record.NameRecord(labelsTopic, &record.Name{Name: name, Into: into})
	}
	merge, undo := name("class-1", "anna"), record.Forget(labelsTopic, record.NameKey("class-1", ""))
	var said []record.Out
	switch i % 5 {
	case 0:
		said = []record.Out{merge}
	case 1:
		for n := range 5 {
			said = append(said, record.Teach(labelsTopic, &record.Example{
				ID: fmt.Sprint("split-", i, "-", n), Label: "bea", Vector: s.teacher.vector(1),
			}))
		}
	case 2:
		said = []record.Out{undo}
	case 3:
		said = []record.Out{name("class-2", "class-0")}
	case 4:
		said = []record.Out{record.Forget(labelsTopic, record.NameKey("class-2", ""))}
	}
	if i == s.events-1 {
		said = []record.Out{merge, name("class-3", "")}
	}
	s.h.note("%d records on names, the first %s", len(said), said[0].Key)
	if err := s.client.Write(ctx, said); err != nil {
		return err
	}
	if i%3 == 2 {
		return s.joinOrLeave(ctx, i)
	}
	return s.kill(ctx, i)
}

// awaitNames waits until no item has a name that is merged into another or forgotten. All such items are
// recent, so stages correct them without a correct command.
func (s *scenario) awaitNames(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(time.Second) {
		got, err := readAnswers(ctx, s.client, outTopic)
		if err != nil {
			return err
		}
		if _, wrong, err := s.contradictions(ctx, got); wrong == 0 || err != nil {
			return err
		}
	}
	return nil // judgeNames reports it
}

// judgeNames finds items to which the table of results and corrections gives a name that is merged into
// another or forgotten. It then has the range corrected, after which there must be none.
func (s *scenario) judgeNames(ctx context.Context, got *answers) (string, error) {
	said, before, err := s.contradictions(ctx, got)
	if err != nil {
		return "", err
	}
	if before > 0 {
		s.h.violation("names: stages leave %d items that are called by a name that is merged or forgotten", before)
	}
	correct := exec.CommandContext(ctx, s.binary, "correct", "--brokers", strings.Join(s.cluster.Brokers(), ","),
		"--in", inTopic, "--out", outTopic, "--corrections", correctionsTopic, "--labels", labelsTopic,
		"--group", groupName, "--support", filepath.Join(s.dir, "support.jsonl"), "--delivery", s.delivery,
		"--episode-size", "20", "--format", "f32", "--dimension", fmt.Sprint(scenarioDimension))
	if out, err := correct.CombinedOutput(); err != nil {
		return "", fmt.Errorf("correct: %w\n%s", err, out)
	}
	after, left, err := s.contradictions(ctx, got)
	if err != nil {
		return "", err
	}
	if left > 0 {
		s.h.violation("names: %d items are called by a name that is merged or forgotten", left)
	}
	return fmt.Sprintf("%d corrections by stages, after which %d items had a name that is merged or forgotten; "+
		"%d by correct, after which %d had", said, before, after-said, left), nil
}

// contradictions counts corrections, and the items whose name contradicts the labels topic.
func (s *scenario) contradictions(ctx context.Context, got *answers) (said, wrong int, err error) {
	type row struct {
		label    string
		revision int64
	}
	table := map[string]row{}
	for id, list := range got.byID {
		var result record.Result
		if err := json.Unmarshal(list[len(list)-1], &result); err != nil {
			return 0, 0, err
		}
		table[id] = row{label: result.Label}
	}
	err = readAll(ctx, s.client, correctionsTopic, func(r *record.Raw) error {
		var c record.Correction
		if err := json.Unmarshal(r.Value, &c); err != nil {
			return fmt.Errorf("%s/%d/%d is no correction: %w", r.Topic, r.Partition, r.Offset, err)
		}
		said++
		now, found := table[c.ID]
		if !found {
			s.h.violation("names: %s has a correction and no result", c.ID)
		}
		if c.Revision >= now.revision {
			table[c.ID] = row{c.New.Label, c.Revision}
		}
		return nil
	})
	for _, r := range table {
		if r.label == "class-1" || r.label == "class-3" {
			wrong++
		}
	}
	return said, wrong, err
}
