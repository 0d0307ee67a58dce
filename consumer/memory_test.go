package consumer

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Open episodes take about the memory that they count, whatever a sender puts in names.
func TestOpenEpisodesCountTheirMemory(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, item := range map[string]record.Item{
		"short":          {Stream: "s"},
		"many streams":   {Stream: "many"},
		"long names":     {Stream: long, Track: long, Label: long, Frame: long},
		"long in one":    {Stream: "s", Track: long, Label: long, Frame: long},
		"models as well": {Stream: "s", Model: long},
	} {
		distinct := func(text *string, i int) {
			if len(*text) > 1 {
				*text = fmt.Sprint(*text, i)
			}
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b := NewBuffer(Limits{Size: 1 << 20, Memory: 8 << 20})
		now := time.Unix(1e9, 0)
		for i := range 25_000 {
			next := item
			for _, text := range []*string{&next.Stream, &next.Track, &next.Label, &next.Frame, &next.Model} {
				distinct(text, i)
			}
			next.Vector, next.Source = []float32{1, 2}, record.Source{Offset: int64(i)}
			b.Add(next, now, now)
			b.Closed()
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 3*b.Bytes() || held > 24<<20 {
			t.Errorf("%s: %d bytes are held, %d counted", name, held, b.Bytes())
		}
		runtime.KeepAlive(b)
	}
}
