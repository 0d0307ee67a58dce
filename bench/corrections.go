package main

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
)

// correctionsSection measures what labels that come after the answer correct among the last 1,000 items.
var correctionsSection = section{
	name: "corrections", title: "Corrections of recent answers",
	run: func(ctx context.Context, b *bench) error {
		folders, forget, err := b.Sets("mot17-05-reid", "grocery", "street")
		if err != nil {
			return err
		}
		defer forget()
		sets, err := evaluate.ReadSets(folders)
		if err != nil {
			return err
		}
		seeds := uint64(5)
		if b.Quick {
			seeds = 1
		}
		var rows [][]string
		for _, set := range sets {
			for _, by := range []string{"review", "later"} {
				for _, shots := range []int{1, 5} {
					p := streamOrder(set)
					p.Shots, p.Teach, p.TeachBy = shots, .03, by
					s := evaluate.Stream{Protocol: p, Settings: stream.Defaults(), Method: "slk-means"}
					var sum evaluate.CorrectionsResult
					for seed := uint64(1); seed <= seeds; seed++ {
						r, err := s.Corrections(ctx, set, seed)
						if err != nil {
							return err
						}
						sum.Wrong, sum.Right, sum.Spoiled = sum.Wrong+r.Wrong, sum.Right+r.Right, sum.Spoiled+r.Spoiled
						sum.Accuracy, sum.Corrected = sum.Accuracy+r.Accuracy, sum.Corrected+r.Corrected
					}
					rows = append(rows, []string{
						set.Name, by, fmt.Sprint(shots), fmt.Sprintf("%.3f", sum.Accuracy/float64(seeds)),
						fmt.Sprintf("%.3f", sum.Corrected/float64(seeds)), fmt.Sprint(sum.Wrong),
						fmt.Sprintf("%d (%.3f)", sum.Right, float64(sum.Right)/float64(max(1, sum.Wrong))),
						fmt.Sprintf("%d (%.3f)", sum.Spoiled, float64(sum.Spoiled)/float64(max(1, sum.Right))),
					})
				}
			}
		}
		b.Text("3 %% of the items are labelled after their answer: those that review asks for, or any. Each label corrects "+
			"the last 1,000 items. %d seeds; asked: no more spoiled than one in twenty of those corrected.", seeds)
		b.Table([]string{
			"set", "labelled", "shots", "right", "after corrections", "wrong", "corrected (of wrong)", "spoiled (of corrected)",
		}, rows)
		return nil
	},
}
