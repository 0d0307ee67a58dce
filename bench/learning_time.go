package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// timeCost measures what the order, frames and tracks of items add to the CPU time of an episode, once the
// stream has made its first metrics.
func (l *learning) timeCost(ctx context.Context, sets []*evaluate.Set) error {
	const most = 1.15
	worst := 0.
	var rows [][]string
	for _, set := range sets {
		for _, c := range []struct {
			what            string
			frames, tracks  bool
			episode, before int // items per episode, episodes before the first measured one
			teach           float64
		}{
			{"order", false, false, 100, 22, 0},
			{"order, 3 % taught", false, false, 100, 22, .03},
			{"order and frames", true, false, 100, 22, 0},
			{"order, frames and tracks, 3 % taught", true, true, 100, 22, .03},
			{"one item an episode", false, false, 1, 60, 0},
			{"one item an episode, 3 % taught", false, false, 1, 60, .03},
		} {
			if c.frames && set.Frames == nil {
				continue
			}
			protocol := streamOrder(set)
			protocol.Shots, protocol.Teach, protocol.Episode = 5, c.teach, c.episode
			if !c.frames {
				protocol.Frames = nil
			}
			if c.tracks {
				protocol.Tracks = tracklets(set)
			}
			episodes, labels, err := protocol.Episodes(set, 1)
			if err != nil {
				return err
			}
			var with, without, ratios []float64
			for range 3 * l.bench.Rounds() {
				timed, untimed, err := settledCost(ctx, l.settings, episodes, labels, c.before)
				if err != nil {
					return err
				}
				with, without = append(with, timed), append(without, untimed)
				ratios = append(ratios, timed/untimed)
			}
			ratio := evaluate.Median(ratios)
			worst = max(worst, ratio)
			rows = append(rows, []string{
				set.Name, c.what, micro(evaluate.Median(with)), micro(evaluate.Median(without)),
				fmt.Sprintf("%.2f", ratio), map[bool]string{true: "yes", false: "no"}[ratio <= most],
			})
		}
	}
	l.bench.Text("What the order, the frames and the tracks of its items cost a stream: processor time "+
		"an episode, answered in turn, medians of rounds; at most %.2f times that of --time=false is "+
		"asked, and nothing "+
		"for streams of one item an episode.", most)
	l.bench.Table([]string{"stream", "used", "time an episode", "untimed", "ratio", "met"}, rows)
	l.bench.Figure("learning.time-cost", "%.2f", worst)
	return nil
}

// tracklets returns the tracks of a tracker that loses each thing after fifty of its items.
func tracklets(set *evaluate.Set) []int32 {
	const longest = 50
	out := make([]int32, set.N)
	current, length, tracks := map[int32]int32{}, map[int32]int{}, int32(0)
	for i, y := range set.Labels {
		if y < 0 {
			out[i] = -1
			continue
		}
		if length[y]%longest == 0 {
			current[y] = tracks
			tracks++
		}
		length[y]++
		out[i] = current[y]
	}
	return out
}

// unrelated returns the same episodes without frames and tracks.
func unrelated(episodes [][]stream.Item) [][]stream.Item {
	out := make([][]stream.Item, len(episodes))
	for i, items := range episodes {
		out[i] = slices.Clone(items)
		for j := range out[i] {
			out[i][j].Frame, out[i][j].Track = "", ""
		}
	}
	return out
}

// settledCost returns the CPU time, in seconds, of an episode of a stream that has answered some before, with
// the order of its items and without. The two streams take turns, because the speed of a busy machine varies.
func settledCost(ctx context.Context, settings stream.Settings, episodes [][]stream.Item,
	labels *taught.Labels, before int,
) (timed, untimed float64, err error) {
	plain := settings
	plain.Time, plain.FrameWeight = false, 0
	bare := unrelated(episodes)
	var streams [2]*stream.Stream
	var engines [2]stream.Engine
	for i, s := range []stream.Settings{settings, plain} {
		streams[i] = stream.New("camera", s)
	}
	before = min(before, len(episodes)/2)
	measured := min(len(episodes), before+20) - before
	var spent [2]float64
	for at := range before + measured {
		for turn := range 2 {
			which := (at + turn) % 2
			items := [2][]stream.Item{episodes[at], bare[at]}[which]
			from := processSeconds()
			if _, _, err := streams[which].Answer(ctx, &engines[which], items, labels); err != nil {
				return 0, 0, err
			}
			if at >= before {
				spent[which] += processSeconds() - from
			}
		}
	}
	return spent[0] / float64(measured), spent[1] / float64(measured), nil
}
