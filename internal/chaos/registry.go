package main

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// peer is the schema registry of a bed: senders write Avro by its schemas.
type peer struct {
	fake   *srfake.Registry
	server *httptest.Server
	breaks atomic.Pointer[http.HandlerFunc] // what answers in its place; nil: itself
	over   chan struct{}                    // closed when nobody may wait for an answer any more

	schema  int // by which senders write to the input
	written string
}

const (
	firstSchema = `{"type":"record","name":"Item","fields":[{"name":"vector","type":{"type":"array","items":"float"}}]}`
	otherSchema = `{"type":"record","name":"Item","fields":[{"name":"id","type":"string"},` +
		`{"name":"vector","type":{"type":"array","items":"float"}}]}`
	// Ids of schemas: in use before anything breaks, and of the input from then on.
	idInUse, idNew = 1, 2
)

func newPeer() *peer {
	r := &peer{fake: srfake.New(), over: make(chan struct{}), schema: idInUse, written: firstSchema}
	r.seed(idInUse, idNew)
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if breaks := r.breaks.Load(); breaks != nil {
			(*breaks)(w, request)
			return
		}
		r.fake.Handler().ServeHTTP(w, request)
	}))
	return r
}

// seed registers the schema that senders write by.
func (r *peer) seed(ids ...int) {
	for version, id := range ids {
		r.fake.SeedSchema("items", version+1, id, sr.Schema{Schema: r.written, Type: sr.TypeAvro})
	}
}

func (r *peer) close() {
	close(r.over)
	r.server.Close()
	r.fake.Close()
}

// value returns an item's value as senders write it to an input.
func (r *peer) value(name string, vector []float32) []byte {
	id := r.schema
	if name != inTopic {
		id = idInUse
	}
	payload, err := avro.MustParse(r.written).Encode(map[string]any{"id": "item", "vector": vector})
	if err != nil {
		panic(err) // the value fits both schemas
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(id)), payload...)
}

// registryDoes lets something answer in the registry's place, while a sender has begun to write by a schema that the
// stage has not asked for yet.
func registryDoes(breaks http.HandlerFunc) breaking {
	return func(_ context.Context, b *bed) error {
		r := b.peer
		r.schema = idNew
		r.breaks.Store(&breaks)
		b.undo = func() error { r.breaks.Store(nil); return nil }
		return nil
	}
}

// registryMadeAgain has another schema under an id that is in use, by which the sender writes.
func registryMadeAgain(_ context.Context, b *bed) error {
	r := b.peer
	r.fake.Reset()
	r.written = otherSchema
	r.seed(idInUse)
	return nil
}

func registryRefuses(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.Close()
	}
}

func registryAnswers(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the stage may have gone
	}
}

func registryRedirects(w http.ResponseWriter, request *http.Request) {
	if request.URL.Path == "/signin" {
		registryAnswers(http.StatusOK, "text/html", "<title>Sign in</title>")(w, request)
		return
	}
	http.Redirect(w, request, "/signin", http.StatusFound)
}

// registryCells are the cells of the registry.
func registryCells() (all []cell) {
	const waits = "answers by schemas that it knows"
	told := trouble{"waiting for the schema registry", "partition"}
	for _, c := range []struct {
		way, how string
		does     http.HandlerFunc
		short    bool
		listed   bool
	}{
		{"away", "connections break", registryRefuses, false, true},
		{"away", "503", registryAnswers(http.StatusServiceUnavailable, "text/plain", "starting"), true, true},
		{"hanging", "answers nothing", nil, false, true},
		{"another's", "a proxy's page", registryAnswers(http.StatusOK, "text/html", "<title>Hello</title>"), true, true},
		{"another's", "leads to a page to sign in", registryRedirects, false, false},
		{"another's", "another service's JSON", registryAnswers(http.StatusOK, "application/json", `{"status":"ok"}`), true, false},
		{"another's", "400 with a page, as for HTTP where TLS is wanted", registryAnswers(http.StatusBadRequest, "text/html", "<p>"), false, false},
		{"another's", "404 with a page", registryAnswers(http.StatusNotFound, "text/html", "<p>"), false, false},
	} {
		begin := registryDoes(c.does)
		if c.does == nil {
			begin = registryHangs
		}
		one := cell{
			resource: "registry", way: c.way, how: c.how, does: waits, told: told, othersGoOn: true, short: c.short, begin: begin,
			unlisted: !c.listed,
		}
		all = append(all, one)
		if c.short {
			one.short, one.unlisted, one.atStart, one.othersGoOn = false, true, true, false
			one.how += ", at a restart"
			one.does = waitsFirst
			all = append(all, one)
		}
	}
	return append(all, cell{
		resource: "registry", way: "slow", how: "each answer takes two seconds", does: "goes on, later", othersGoOn: true, unlisted: true,
		begin: registrySlow,
	}, cell{
		resource: "registry", way: "made again", how: "another schema under an id in use", does: "reads by it",
		othersGoOn: true, short: true, begin: registryMadeAgain,
	})
}

func registryHangs(ctx context.Context, b *bed) error {
	over := b.peer.over
	return registryDoes(func(_ http.ResponseWriter, request *http.Request) {
		select {
		case <-request.Context().Done():
		case <-over:
		}
	})(ctx, b)
}

func registrySlow(ctx context.Context, b *bed) error {
	fake := b.peer.fake
	return registryDoes(func(w http.ResponseWriter, request *http.Request) {
		time.Sleep(2 * time.Second)
		fake.Handler().ServeHTTP(w, request)
	})(ctx, b)
}
