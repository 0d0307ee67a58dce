package stream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/internal/piece"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// scenario lists events in the life of a stream: labels that come, are corrected and withdrawn, items that
// teach, a reset, or no labels at all.
type scenario struct {
	name     string
	shots    int
	taught   float64
	discover bool
	warm     bool
	untimed  bool // the order of the items is not used
	framed   bool // items have frames and tracks, some of them wrong
	single   bool // the first episodes have one item, of which every third is taught
	reused   bool // the memory of vectors has other numbers as soon as they are answered
}

var scenarios = []scenario{
	{name: "untaught", shots: 2, warm: true},
	{name: "one shot", shots: 1, warm: true},
	{name: "taught", shots: 1, taught: .1, warm: true},
	{name: "cold", shots: 2, taught: .1},
	{name: "clusters", warm: true},
	{name: "untimed", shots: 1, taught: .1, warm: true, untimed: true},
	{name: "frames and tracks", shots: 1, taught: .1, warm: true, framed: true},
	{name: "cold frames", shots: 1, taught: .1, framed: true},
	{name: "framed clusters", warm: true, framed: true},
	{name: "tracks, an item an episode at first", shots: 1, taught: .1, warm: true, framed: true, single: true},
	{name: "discover", shots: 1, taught: .05, discover: true, warm: true},
}

// play answers the scenario's episodes; between is called before each of them and may replace the stream.
func (c scenario) play(
	t *testing.T,
	between func(*Stream, *Engine) (*Stream, *Engine),
) (answers [][]Answer, reports []Report, state []Piece) {
	t.Helper()
	set := settings(t)
	set.Discover, set.Warm, set.Time = c.discover, c.warm, !c.untimed
	f := newCamera(3, 7, 24, 1.2)
	labels := f.labels(c.shots)
	if c.discover { // two classes without labels
		labels.Everyone = slices.DeleteFunc(labels.Everyone, func(e taught.Example) bool { return e.Label >= label(5) })
	}
	s, e := New("cam", set), new(Engine)
	for episode := range 23 {
		items, truth := f.episode(20+episode%3, c.taught)
		if c.single && episode < 6 {
			if items = items[:1]; episode%3 == 0 {
				items[0].Label = truth[0]
			}
		}
		if c.framed {
			for i := range items {
				items[i].Frame, items[i].Track = fmt.Sprint(episode, i/5), fmt.Sprint(i%5, (episode+i)/40)
			}
		}
		if c.shots > 0 {
			switch episode {
			case 5: // a new example of this stream's own
				labels = &taught.Labels{
					Everyone: labels.Everyone,
					Stream:   map[string][]taught.Example{"cam": {{ID: "own", Label: label(1), Vector: f.vector(1)}}},
				}
			case 9: // corrected
				labels = &taught.Labels{
					Everyone: labels.Everyone,
					Stream:   map[string][]taught.Example{"cam": {{ID: "own", Label: label(2), Vector: f.vector(2)}}},
				}
			case 13: // withdrawn, and an item of the feed with it
				labels = &taught.Labels{Everyone: labels.Everyone, Forgotten: []string{"own", "i3", "i30", "i50"}}
			}
		}
		if episode == 17 {
			s.Reset(label(0))
		}
		s, e = between(s, e)
		a, r := answer(t, s, e, items, labels)
		answers, reports = append(answers, a), append(reports, r)
		for i := range items {
			if c.reused {
				copy(items[i].Vector, slices.Repeat([]float32{float32(i)}, 24))
			}
		}
	}
	return answers, reports, s.State()
}

// TestReplay: a stream that is encoded and restored before every episode, or solved by an engine that is
// new or has just served another stream, or that has learned at once, or whose items' vectors are overwritten
// once they are answered, answers bit for bit like one that is not interrupted.
func TestReplay(t *testing.T) {
	for _, c := range scenarios {
		want, wantReports, wantState := c.play(t, func(s *Stream, e *Engine) (*Stream, *Engine) { return s, e })
		for name, between := range map[string]func(*Stream, *Engine) (*Stream, *Engine){
			"restored": func(s *Stream, e *Engine) (*Stream, *Engine) {
				pieces := s.State()
				slices.Reverse(pieces)
				restored, err := Restore(s.settings, pieces)
				if err != nil {
					t.Fatal(err)
				}
				return restored, e
			},
			"viewed": func(s *Stream, e *Engine) (*Stream, *Engine) {
				if _, err := s.View(&Item{Vector: slices.Repeat([]float32{1}, 24)}, nil, nil); err != nil {
					t.Fatal(err)
				}
				return s, e
			},
			"new engine":      func(s *Stream, e *Engine) (*Stream, *Engine) { return s, new(Engine) },
			"vectors reused":  func(s *Stream, e *Engine) (*Stream, *Engine) { return s, e },
			"learned at once": func(s *Stream, e *Engine) (*Stream, *Engine) { s.Learn(); return s, e },
			"another stream first": func(s *Stream, e *Engine) (*Stream, *Engine) {
				other := newCamera(8, 3, 24, 1)
				items, _ := other.episode(9, 0)
				answer(t, New("other", s.settings), e, items, other.labels(1))
				return s, e
			},
		} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				c.reused = name == "vectors reused"
				got, reports, state := c.play(t, between)
				for i := range want {
					if !reflect.DeepEqual(got[i], want[i]) {
						t.Fatalf("episode %d: answers differ", i+1)
					}
					if !reflect.DeepEqual(reports[i], wantReports[i]) {
						t.Fatalf("episode %d: report %+v, not %+v", i+1, reports[i], wantReports[i])
					}
				}
				if !reflect.DeepEqual(state, wantState) {
					t.Errorf("the state differs")
				}
			})
		}
	}
}

// TestRelearning: of two streams one is restored at random episodes from a state some episodes old and
// replays those between. Both end in the same state.
func TestRelearning(t *testing.T) {
	set := settings(t)
	f := newCamera(4, 5, 16, 1)
	labels := f.labels(1)
	s, e := New("cam", set), new(Engine)
	var episodes [][]Item
	var states [][]Piece
	for range 12 {
		items, _ := f.episode(15, .1)
		states = append(states, s.State())
		episodes = append(episodes, items)
		answer(t, s, e, items, labels)
	}
	for from := range states {
		again, err := Restore(set, states[from])
		if err != nil {
			t.Fatal(err)
		}
		for _, items := range episodes[from:] {
			if last := items[len(items)-1].Position; !last.After(again.LearnedTo()) {
				t.Fatalf("restored before episode %d, and %v is already learned", from+1, last)
			}
			answer(t, again, e, items, labels)
		}
		if !reflect.DeepEqual(again.State(), s.State()) {
			t.Errorf("learned again from episode %d: another state", from+1)
		}
		if again.LearnedTo() != (Position{Offset: f.offset - 1, Object: -1}) {
			t.Errorf("learned to %v", again.LearnedTo())
		}
	}
}

// resealed returns the body of a piece with its checksum.
func resealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// more returns a piece with one more field.
func more(of []byte, number int, value string) []byte {
	body := binary.AppendUvarint(slices.Clone(of[:len(of)-4]), uint64(number))
	body = binary.AppendUvarint(body, uint64(len(value)))
	return resealed(append(body, value...))
}

func TestRestoreRefuses(t *testing.T) {
	set := settings(t)
	f := newCamera(5, 4, 16, 1)
	s, e := New("cam", set), new(Engine)
	for range 5 {
		items, _ := f.episode(20, .1)
		answer(t, s, e, items, f.labels(1))
	}
	pieces := s.State()
	for i := range pieces {
		for name, change := range map[string]func([]byte) []byte{
			"cut":       func(b []byte) []byte { return b[:len(b)-1] },
			"empty":     func([]byte) []byte { return nil },
			"a bit":     func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
			"a version": func(b []byte) []byte { b[4]++; return resealed(b[:len(b)-4]) },
		} {
			broken := slices.Clone(pieces)
			broken[i].Bytes = change(slices.Clone(broken[i].Bytes))
			if _, err := Restore(set, broken); !errors.Is(err, ErrState) {
				t.Errorf("piece %s, %s: %v", pieces[i].Name, name, err)
			}
		}
		if _, err := Restore(set, slices.Delete(slices.Clone(pieces), i, i+1)); !errors.Is(err, ErrState) {
			t.Errorf("without %s: %v", pieces[i].Name, err)
		}
	}
}

// TestRestoreStepsOverUnknownFields: fields that a later version adds are skipped.
func TestRestoreStepsOverUnknownFields(t *testing.T) {
	set := settings(t)
	f := newCamera(6, 4, 16, 1)
	s, e := New("cam", set), new(Engine)
	items, _ := f.episode(20, .1)
	answer(t, s, e, items, f.labels(1))
	pieces := s.State()
	later := slices.Clone(pieces)
	for i := range later {
		later[i].Bytes = more(later[i].Bytes, 900+i, "from a later version")
	}
	restored, err := Restore(set, later)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(restored.State(), pieces) {
		t.Errorf("another state")
	}
}

func FuzzRestore(f *testing.F) {
	set := settings(f)
	feed := newCamera(6, 3, 8, 1)
	s, e := New("cam", set), engine(f, set)
	for range 3 {
		items, _ := feed.episode(12, .1)
		answer(f, s, e, items, feed.labels(1))
	}
	for _, piece := range s.State() {
		f.Add(piece.Bytes[:len(piece.Bytes)-4])
	}
	head := s.State()[0]
	f.Fuzz(func(t *testing.T, body []byte) {
		// The checksum is corrected, so that the fields are read.
		piece := resealed(body)
		for _, pieces := range [][]Piece{{{"head", piece}}, {head, {"class/x", piece}, {"metric", piece}, {"scatter", piece}}} {
			restored, err := Restore(set, pieces)
			if err != nil {
				if !errors.Is(err, ErrState) {
					t.Fatal(err)
				}
				continue
			}
			restored.State()
			if d := restored.Dimension(); d > 0 && d < 100 {
				items, _ := newCamera(8, 2, d, 1).episode(3, 0)
				items[0].Model, items[1].Model, items[2].Model = restored.model, restored.model, restored.model
				if _, _, err := restored.Answer(context.Background(), e, items, nil); err != nil {
					t.Logf("answers %v", err) // it must not panic
				}
			}
		}
	})
}

// TestAnotherKernelIsTold: state learned with another vector unit is reported once.
func TestAnotherKernelIsTold(t *testing.T) {
	set := settings(t)
	f := newCamera(5, 4, 16, 1)
	s, e := New("cam", set), new(Engine)
	items, _ := f.episode(20, .1)
	answer(t, s, e, items, f.labels(1))
	pieces := s.State()
	pieces[0].Bytes = more(pieces[0].Bytes, piece.Kernel, "another") // the last of a field counts
	restored, err := Restore(set, pieces)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		items, _ := f.episode(20, .1)
		if _, report := answer(t, restored, e, items, f.labels(1)); noted(report, "vector unit another") != want {
			t.Errorf("notes %q", report.Notes)
		}
	}
}

// TestNamesDecideNothing: answers depend on a stream's own items, not on its name.
func TestNamesDecideNothing(t *testing.T) {
	set := settings(t)
	f := newCamera(3, 7, 24, 1.2)
	labels, e := f.labels(1), new(Engine)
	one, other := New("cam", set), New("the other one", set)
	for episode := range 130 { // by then metrics are refreshed rarely
		items, _ := f.episode(20, .1)
		a, _ := answer(t, one, e, items, labels)
		b, _ := answer(t, other, e, items, labels)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("episode %d: the answers of two streams of the same items differ", episode)
		}
	}
}
