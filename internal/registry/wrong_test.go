package registry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/slkstream/slkstream/internal/record"
)

// What answers in place of a registry (a proxy, a page to sign in, another server at a wrong address) refuses no record:
// records wait until the registry itself answers.
func TestWhatIsNoRegistryIsWaitedFor(t *testing.T) {
	page := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body)) // the client may have gone
		}
	}
	const html = "<!doctype html><title>hello</title>"
	elsewhere := httptest.NewServer(page(http.StatusOK, html))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"a page":                     page(http.StatusOK, html),
		"nothing":                    page(http.StatusOK, ""),
		"another service":            page(http.StatusOK, `{"status":"ok"}`),
		"an empty list":              page(http.StatusOK, `[]`),
		"a page for any address":     page(http.StatusNotFound, html),
		"TLS is wanted":              page(http.StatusBadRequest, html),
		"another method is wanted":   page(http.StatusMethodNotAllowed, html),
		"a proxy forbids":            page(http.StatusForbidden, html),
		"gone, says a proxy":         page(http.StatusGone, html),
		"misdirected, says a proxy":  page(http.StatusMisdirectedRequest, html),
		"the registry is overloaded": page(http.StatusInternalServerError, `{"error_code":50001,"message":"store"}`),
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/login", http.StatusFound)
		},
		"round in circles": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := srfake.New()
			defer fake.Close()
			fake.SeedSchema("in-value", 1, 1, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
			fake.SeedSchema("in-value", 2, 2, sr.Schema{Schema: itemSchema, Type: sr.TypeAvro})
			var itself atomic.Bool
			itself.Store(true)
			fake.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if itself.Load() {
					return false
				}
				answer(w, r)
				return true
			})
			registry := open(t, Settings{URL: fake.URL()})
			if _, _, err := registry.Decode(t.Context(), 1, []byte(`{}`)); err != nil { // its secret is right
				t.Fatal(err)
			}
			itself.Store(false)
			payload, err := avro.MustParse(itemSchema).Encode(&item{ID: "a", Embedding: []float32{1}})
			if err != nil {
				t.Fatal(err)
			}
			decoded := make(chan error, 1)
			go func() {
				_, _, err := registry.Decode(t.Context(), 2, payload)
				decoded <- err
			}()
			for registry.Waiting() == nil {
				select {
				case err := <-decoded:
					t.Fatalf("the record does not wait: %v", err)
				case <-time.After(time.Millisecond):
				}
			}
			itself.Store(true)
			if err := <-decoded; err != nil {
				t.Error(err)
			}
		})
	}
}

// A registry that was made anew may have another schema under an id that is known. Values that do not fit the schema
// that is known are read by the one that there is now; it is asked for once in a while, however many do not fit.
func TestASchemaThatChanges(t *testing.T) {
	fake := srfake.New()
	defer fake.Close()
	const old, now = `{"type":"record","name":"R","fields":[{"name":"vector","type":{"type":"array","items":"float"}}]}`,
		`{"type":"record","name":"R","fields":[{"name":"id","type":"string"},{"name":"vector","type":{"type":"array","items":"float"}}]}`
	fake.SeedSchema("in-value", 1, 1, sr.Schema{Schema: old, Type: sr.TypeAvro})
	var asked atomic.Int64
	fake.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/schemas/ids/") {
			asked.Add(1)
		}
		return false
	})
	registry := open(t, Settings{URL: fake.URL()})
	decoded := func(schema string, value map[string]any) (string, error) {
		payload, err := avro.MustParse(schema).Encode(value)
		if err != nil {
			t.Error(err)
		}
		got, _, err := registry.Decode(t.Context(), 1, payload)
		return string(got), err
	}
	some := []float32{1, 2}
	if _, err := decoded(old, map[string]any{"vector": some}); err != nil {
		t.Fatal(err)
	}
	for range 20 { // the registry has the old one still
		if got, err := decoded(now, map[string]any{"id": "item", "vector": some}); !rejected(err, record.Unreadable) {
			t.Fatalf("%s, %v", got, err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	fake.Reset()
	fake.SeedSchema("in-value", 1, 1, sr.Schema{Schema: now, Type: sr.TypeAvro})
	registry.mutex.Lock()
	registry.schemas[1].checked = time.Now().Add(-time.Minute)
	registry.mutex.Unlock()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			got, err := decoded(now, map[string]any{"id": "item", "vector": some})
			if want := `{"id":"item","vector":[1,2]}`; err != nil || got != want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times", n)
	}
}
