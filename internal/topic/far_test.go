package topic

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/slkstream/slkstream/internal/record"
)

// Senders write any number as a timestamp: microseconds, for example, are in the year 57871. encoding/json
// refuses such times, as in a correction by a label that has one.
func TestTimesOfRecordsCanBeWritten(t *testing.T) {
	for _, first := range []int64{1_764_000_000_000_000, math.MaxInt64, math.MinInt64, -1} {
		var d decoder
		h := head{first: first, last: 1, count: 2}
		raw, _ := d.start(h, start(0))
		late, _ := d.start(h, start(math.MaxInt64))
		rejected := d.reject(h, 0, unreadable("cut"), nil)
		for _, r := range append(rejected, raw, late) {
			c := record.Correction{Time: r.Time}
			var read record.Correction
			if err := json.Unmarshal(c.Out("corrections", nil).Value, &read); err != nil || !read.Time.Equal(r.Time) {
				t.Errorf("%d: %v", first, err)
			}
		}
		if first == -1 && !raw.Time.Equal(time.UnixMilli(-1)) {
			t.Errorf("%v for no time", raw.Time)
		}
	}
}

// start is how a record begins whose time is so much later than its batch's.
func start(later int64) *kbin.Reader {
	return &kbin.Reader{Src: kbin.AppendVarint(kbin.AppendVarlong([]byte{0}, later), 0)}
}
