package intake

import (
	"log/slog"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// Without the ids of topics, a log that ends before what was decided has lost its tail, unless it ends before
// where reading starts: then it is another one.
func TestResumeWithoutTopicIDs(t *testing.T) {
	for _, c := range []struct{ from, decided, end, want int64 }{
		{900, 1000, 950, 900},
		{900, 1000, 899, 0},
	} {
		i := New(&Settings{Labels: labels.New(labels.Options{})}, slog.New(slog.DiscardHandler))
		begun, err := i.Begin(t.Context(), &state.Restored{Journal: &state.Journal{
			From: record.Start(c.from), Decided: record.Start(c.decided), Rejected: c.decided,
		}}, c.from, Input{End: c.end})
		if start := i.Position().Offset; err != nil || start != c.want || !begun.Remade || begun.Known {
			t.Errorf("%+v: starts at %d, %+v, %v", c, start, begun, err)
		}
	}
}
