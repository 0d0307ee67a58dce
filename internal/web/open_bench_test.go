package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// What the page costs in two seconds in which twenty cameras answer 1,000 items with 200 names, 25 times a second, in ns: looked
// at by nobody, and by one visitor, who reads the events and asks as the script does.
func BenchmarkPage(b *testing.B) {
	const batches, together = 50, 20
	attributes := json.RawMessage(`{"image":"https://camera/1.jpg"}`)
	results := make([][]record.Result, batches)
	now := time.Now()
	for n := range results {
		for k := range together {
			results[n] = append(results[n], record.Result{
				ID: fmt.Sprint("in/0/", n*together+k), Stream: fmt.Sprintf("dock %d", 1+n%20), Label: fmt.Sprint("name ", (n*7+k)%200),
				Confidence: .9, Time: now, Attributes: attributes,
			})
		}
	}
	for _, visitors := range []int{0, 1} {
		b.Run(fmt.Sprintf("visitors=%d", visitors), func(b *testing.B) {
			p := pageOf(Options{}, fakeStage{})
			handler := p.Handler()
			if visitors > 0 {
				messages := p.clients.add()
				go func() {
					for range messages { // a visitor reads all
					}
				}()
				defer p.clients.close()
			}
			ask := func(path string) {
				reply := httptest.NewRecorder()
				handler.ServeHTTP(reply, httptest.NewRequestWithContext(context.Background(), "GET", path, nil))
				if reply.Code != 200 {
					b.Fatal(path, reply.Code, reply.Body)
				}
			}
			for b.Loop() {
				for n, list := range results {
					p.told(list, nil, false)
					if visitors > 0 && n%4 == 0 {
						e := &episode{Stream: list[0].Stream, Number: int64(n)}
						for i := range list {
							e.items = append(e.items, item{Example: list[i].ID, Vector: []float32{1, float32(i)}, Result: list[i]})
						}
						p.latest = e
						p.clients.send(p.show())
					}
				}
				for range visitors {
					ask("/page/shell")
					ask("/page/live?span=60&names=14")
				}
			}
		})
	}
}
