package file

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The results for held-out rows do not depend on their labels, which take no part in the mean, the metric or
// the graph. Nor do they depend on whether labels are in the file or in the support.
func TestHeldOutLabelsAreNotSeen(t *testing.T) {
	for name, inFile := range map[string]bool{"support": false, "file": true} {
		t.Run(name, func(t *testing.T) {
			p, truth := blobs(1500, 24, 8, 4, false, 1.2, 11)
			given := make([]int32, p.N)
			for i := range given {
				given[i] = -1
			}
			if inFile {
				p.Support.N, p.Support.Values, p.SupportClasses = 0, nil, nil
				count := make([]int, p.K)
				for i, y := range truth {
					if count[y] < 4 {
						given[i] = y
						count[y]++
					}
				}
			}
			plain := p.Read
			p.Read = func(use func([]float32, int32) error) error {
				i := 0
				return plain(func(row []float32, _ int32) error {
					i++
					return use(row, given[i-1])
				})
			}
			class := append(slices.Clone(given), p.SupportClasses...)
			c := trials{problem: p, s: &Settings{}, class: class}
			fold := c.folds()[0]
			before, _, err := c.hold(context.Background(), &fold, "", whole)
			if err != nil {
				t.Fatal(err)
			}
			right := 0
			for i, row := range fold.held {
				if before.rows[i].class[0] == class[row] {
					right++
				}
				wrong := (class[row] + 1) % int32(p.K)
				if class[row] = wrong; inFile {
					given[row] = wrong
				} else {
					p.SupportClasses[int(row)-p.N] = wrong
				}
			}
			if right < len(fold.held)*3/4 {
				t.Errorf("%d of %d held-out rows are right", right, len(fold.held))
			}
			after, _, err := c.hold(context.Background(), &fold, "", whole)
			if err != nil {
				t.Fatal(err)
			}
			for i, of := range after.rows {
				if !slices.Equal(of.class, before.rows[i].class) || !slices.Equal(of.sure, before.rows[i].sure) ||
					after.at[i] != before.at[i] {
					t.Errorf("other labels of held-out rows: %v, not %v", of, before.rows[i])
				}
			}
		})
	}
}

// A large file is tried on a sample of its stretches, with all of its labelled rows if they are few.
func TestTrialsOfLargeFiles(t *testing.T) {
	reads, rows := 0, 0
	labelled := func(n, every int) *Problem {
		p, truth := blobs(n, 8, 4, 6, true, .6, 12)
		plain := p.Read
		p.Read = func(use func([]float32, int32) error) error {
			reads++
			i := 0
			return plain(func(row []float32, _ int32) error {
				i++
				if i%every == 7 {
					return use(row, truth[i-1])
				}
				return use(row, -1)
			})
		}
		return p
	}
	trials := map[string]bool{}
	r := solve(t, labelled(2*sampleRows, 1250), Settings{Progress: func(stage string, _, total int64) {
		if strings.HasPrefix(stage, "trial") && strings.HasSuffix(stage, "reading") {
			rows = max(rows, int(total))
			trials[stage] = true
		}
	}})
	// once for the labels, once to be solved in one space, and once a trial
	if !r.Calibrated || len(trials) == 0 || reads != 2+len(trials) || rows < sampleRows || rows > 25_000 {
		t.Errorf("calibrated %v, %d reads, %d rows at most", r.Calibrated, reads, rows)
	}
	small := labelled(2000, 60)
	for _, uncalibrated := range []bool{false, true} {
		if r := solve(t, small, Settings{Uncalibrated: uncalibrated}); r.Calibrated == uncalibrated {
			t.Errorf("calibrated %v where uncalibrated is %v", r.Calibrated, uncalibrated)
		}
	}
}

// Rows that principal directions leave whole have the same neighbours in both spaces of a trial: they are searched once,
// and the answers are those of a search of their own.
func TestTrialsSearchRowsOnce(t *testing.T) {
	p, _ := blobs(1500, 8, 4, 6, true, .6, 13)
	searched := 0
	c := trials{problem: p, s: &Settings{Progress: func(stage string, _, _ int64) {
		if strings.HasSuffix(stage, "ranking") {
			searched++
		}
	}}, class: append(slices.Repeat([]int32{-1}, p.N), p.SupportClasses...)}
	held := func(f *fold) outcome {
		out, _, err := c.hold(context.Background(), f, "", directions)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	alone := c.folds()[0]
	apart := held(&alone)
	shared := c.folds()[0]
	if _, _, err := c.hold(context.Background(), &shared, "", whole); err != nil {
		t.Fatal(err)
	}
	before := searched
	if together := held(&shared); !reflect.DeepEqual(together, apart) {
		t.Error("other answers with neighbours found in the first trial")
	}
	if before == 0 || searched > before {
		t.Errorf("%d searches in the first trials, %d in the last", before, searched-before)
	}
}
