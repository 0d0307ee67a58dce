package registry

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

const itemSchema = `{"type":"record","name":"Item","namespace":"shop","fields":[
	{"name":"id","type":"string"},{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"label","type":["null","string"],"default":null},
	{"name":"embedding","type":{"type":"array","items":"float"}},
	{"name":"raw","type":["null","bytes"],"default":null},
	{"name":"tags","type":{"type":"map","values":"int"}}]}`

type item struct {
	ID        string         `avro:"id"`
	At        time.Time      `avro:"at"`
	Label     *string        `avro:"label"`
	Embedding []float32      `avro:"embedding"`
	Raw       *[]byte        `avro:"raw"`
	Tags      map[string]int `avro:"tags"`
}

// frame adds Confluent's framing to a payload.
func frame(schema int, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(schema)), payload...)
}

func open(t *testing.T, s Settings) *Registry {
	t.Helper()
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	r, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func decode(t *testing.T, o record.Options, value []byte) ([]record.Item, error) {
	t.Helper()
	d, err := record.NewDecoder(o)
	if err != nil {
		t.Fatal(err)
	}
	return d.Decode(t.Context(), &record.Raw{Topic: "in", Value: value}, nil)
}

// Values as Confluent's serializers write them are decoded: Avro with paths, JSON Schema, and nv.Frame
// in Protobuf.
func TestDecode(t *testing.T) {
	fake := srfake.New()
	defer fake.Close()
	fake.SeedSchema("in-value", 1, 1, sr.Schema{Schema: itemSchema, Type: sr.TypeAvro})
	fake.SeedSchema("json-value", 1, 2, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
	fake.SeedSchema("nv-value", 1, 3, sr.Schema{
		Schema: `syntax = "proto3"; message Frame { string id = 2; }`,
		Type:   sr.TypeProtobuf,
	})
	o := record.Options{Schemas: open(t, Settings{URL: fake.URL()}), Paths: record.Paths{
		Vector: "embedding",
		ID:     "id", Time: "at", Label: "label",
	}}
	label := "milk"
	raw := record.AppendVector(nil, []float32{3, 4})
	when := time.UnixMilli(1772600767800)
	payload, err := avro.MustParse(itemSchema).Encode(&item{
		ID: "a", At: when, Label: &label,
		Embedding: []float32{.1, -2}, Raw: &raw, Tags: map[string]int{"x": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	items, err := decode(t, o, frame(1, payload))
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	if i := items[0]; i.ItemID != "a" || i.Label != "milk" || !i.Time.Equal(when) || i.Vector[0] != .1 ||
		i.Vector[1] != -2 {
		t.Errorf("%+v", i)
	}
	o.Paths = record.Paths{Vector: "raw"}
	if items, err = decode(t, o, frame(1, payload)); err != nil || items[0].Vector[1] != 4 {
		t.Errorf("a vector in bytes: %+v, %v", items, err)
	}
	o.Paths = record.Paths{}
	if items, err = decode(t, o, frame(1, payload)); err != nil || items[0].ItemID != "a" ||
		items[0].Vector[1] != -2 {
		t.Errorf("names of ours: %+v, %v", items, err)
	}
	if items, err = decode(t, o, frame(2, []byte(`{"vector":[1,2]}`))); err != nil || len(items) != 1 {
		t.Errorf("JSON Schema: %d items, %v", len(items), err)
	}
	nv := "\x00\x2a\x0c\x32\x0a\x0a\x08" + string(record.AppendVector(nil, []float32{1, 2}))
	if items, err = decode(t, o, frame(3, []byte(nv))); err != nil || len(items) != 1 ||
		items[0].Vector[1] != 2 {
		t.Errorf("nv.Frame: %d items, %v", len(items), err)
	}
	for name, value := range map[string][]byte{
		"a cut payload": frame(1, payload[:len(payload)-3]), "bytes left over": frame(1, append(payload, 0)),
		"no message index": frame(3, []byte("\xff")),
	} {
		if _, err := decode(t, o, value); !rejected(err, record.Unreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	payload, err = avro.MustParse(itemSchema).Encode(&item{Embedding: []float32{float32(math.NaN())}})
	if _, bad := decode(t, o, frame(1, payload)); err != nil || !rejected(bad, record.BadValue) {
		t.Errorf("NaN: %v, %v", err, bad)
	}
}

func rejected(err error, fault record.Fault) bool {
	var rejection *record.Rejection
	return errors.As(err, &rejection) && rejection.Fault == fault
}

// A changed schema in the middle of a topic has another id. Named types of other subjects are found.
func TestReferencesAndChanges(t *testing.T) {
	fake := srfake.New()
	defer fake.Close()
	fake.SeedSchema(
		"point",
		1,
		1,
		sr.Schema{
			Schema: `{"type":"record","name":"P","namespace":"g","fields":[{"name":"v","type":{"type":"array","items":"double"}}]}`,
			Type:   sr.TypeAvro,
		},
	)
	fake.SeedSchema("in-value", 1, 2, sr.Schema{
		Schema:     `{"type":"record","name":"R","namespace":"g","fields":[{"name":"p","type":"g.P"}]}`,
		Type:       sr.TypeAvro,
		References: []sr.SchemaReference{{Name: "g.P", Subject: "point", Version: 1}},
	})
	fake.SeedSchema(
		"in-value",
		2,
		3,
		sr.Schema{
			Schema: `{"type":"record","name":"R","namespace":"g","fields":[{"name":"n","type":"int"},{"name":"p","type":{"type":"record","name":"P2","fields":[{"name":"v","type":{"type":"array","items":"float"}}]}}]}`,
			Type:   sr.TypeAvro,
		},
	)
	fake.SeedSchema(
		"bad",
		1,
		4,
		sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"p","type":"g.Nothing"}]}`, Type: sr.TypeAvro},
	)
	o := record.Options{Schemas: open(t, Settings{URL: fake.URL()}), Paths: record.Paths{Vector: "p.v"}}
	double := func(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
	old := append(append([]byte{4}, append(double(1), double(2)...)...), 0)
	if items, err := decode(t, o, frame(2, old)); err != nil || items[0].Vector[1] != 2 {
		t.Errorf("with a reference: %+v, %v", items, err)
	}
	now := append(append([]byte{14, 4}, record.AppendVector(nil, []float32{1, 2})...), 0)
	if items, err := decode(t, o, frame(3, now)); err != nil || items[0].Vector[1] != 2 {
		t.Errorf("the changed schema: %+v, %v", items, err)
	}
	for _, id := range []int{4, 99} {
		if _, err := decode(t, o, frame(id, now)); !rejected(err, record.UnknownSchema) {
			t.Errorf("schema %d: %v", id, err)
		}
	}
}

// Decode waits for an unreachable registry, which is logged. A known schema is fetched once.
func TestWaits(t *testing.T) {
	fake := srfake.New()
	defer fake.Close()
	fake.SeedSchema("in-value", 1, 1, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
	var asked, away atomic.Int64
	away.Store(4)
	fake.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		asked.Add(1)
		if away.Add(-1) >= 0 {
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	var log bytes.Buffer
	var mutex sync.Mutex
	r := open(t, Settings{URL: fake.URL(), Log: slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mutex.Lock()
		defer mutex.Unlock()
		return log.Write(b)
	}), nil))})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if value, _, err := r.Decode(t.Context(), 1, []byte(`{}`)); err != nil || string(value) != "{}" {
				t.Errorf("%s, %v", value, err)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n < 5 || n > 13 {
		t.Errorf("asked %d times", n)
	}
	if told := strings.Count(log.String(), "fails, trying again"); told != 1 ||
		!strings.Contains(log.String(), "works again") {
		t.Errorf("told:\n%s", log.String())
	}
	before := asked.Load()
	if _, _, err := r.Decode(t.Context(), 1, []byte(`{}`)); err != nil || asked.Load() != before {
		t.Errorf("a known schema: asked again, %v", err)
	}
	away.Store(1 << 30)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, _, err := r.Decode(ctx, 2, []byte(`{}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an end of the wait: %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// Passwords and tokens are read again when their files change.
func TestAuthorize(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, s := range map[string]Settings{
		"Bearer token": {SecretFile: file}, "Basic " +
			base64.StdEncoding.EncodeToString([]byte("user:token")): {URL: "user@", SecretFile: file},
	} {
		fake := srfake.New(srfake.WithAuth(want))
		fake.SeedSchema("in-value", 1, 1, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
		s.URL = strings.Replace(fake.URL(), "://", "://"+s.URL, 1) // with its user
		put("wrong")
		r := open(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		if _, _, err := r.Decode(ctx, 1, []byte(`{}`)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a wrong secret: %v", err)
		}
		cancel()
		put("token")
		if _, _, err := r.Decode(t.Context(), 1, []byte(`{}`)); err != nil {
			t.Error(err)
		}
		fake.Close()
	}
	if _, err := New(Settings{URL: "http://localhost", CA: file}); err == nil {
		t.Error("a file without certificates was accepted")
	}
	if _, err := New(Settings{URL: "http://localhost", Cert: file, Key: file}); err == nil {
		t.Error("a certificate that is none was accepted")
	}
}

// Any payload is decoded or rejected, and the result is valid JSON if its numbers are finite.
func FuzzAvro(f *testing.F) {
	schema := avro.MustParse(itemSchema)
	good, err := schema.Encode(&item{ID: "a", Embedding: []float32{1, 2}, Tags: map[string]int{"x": 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		value, err := avroJSON(schema, payload)
		if err != nil {
			return
		}
		d, err := record.NewDecoder(record.Options{Format: "json"})
		if err != nil {
			t.Fatal(err)
		}
		if items, err := d.Decode(t.Context(), &record.Raw{Value: value}, nil); err == nil && len(items) != 1 {
			t.Errorf("%d items of %s", len(items), value)
		}
	})
}

// Results in Avro can be decoded with the registered schema.
func TestResults(t *testing.T) {
	fake := srfake.New()
	defer fake.Close()
	r := open(t, Settings{URL: fake.URL()})
	form, err := r.Results(t.Context(), "out")
	if err != nil {
		t.Fatal(err)
	}
	answer := record.Result{
		ID: "in/0/7", Stream: "cam", Episode: 3, Label: "milk", Class: "cluster-3", Confidence: .5, Sure: new(bool),
		Time:         time.UnixMicro(1772600767800123).UTC(),
		Alternatives: []record.Alternative{{Label: "juice", Confidence: .25}}, Attributes: []byte(`{"shelf":7}`),
		Vector: record.AppendVector(nil, []float32{1, -2.5}), Source: record.ResultSource{Topic: "in", Offset: 7},
	}
	value := form.Append([]byte("x"), &answer)[1:]
	got, protobuf, err := r.Decode(t.Context(), int(binary.BigEndian.Uint32(value[1:])), value[5:])
	var fields map[string]json.RawMessage
	if err != nil || protobuf || json.Unmarshal(got, &fields) != nil {
		t.Fatalf("%s\n%v", got, err)
	}
	for name, want := range map[string]string{
		"id": `"in/0/7"`, "stream": `"cam"`, "episode": "3", "label": `"milk"`, "class": `"cluster-3"`, "confidence": "0.5",
		"sure": "false", "time": `"2026-03-04T05:06:07.800123Z"`, "unknown": "false", "unknownScore": "0", "calibrated": "false",
		"alternatives": `[{"confidence":0.25,"label":"juice"}]`, "attributes": `"{\"shelf\":7}"`, "vector": "[1,-2.5]",
		"source": `{"offset":7,"partition":0,"topic":"in"}`, "identity": "null", "itemId": "null", "model": "null", "replayOf": "null",
	} {
		if string(fields[name]) != want {
			t.Errorf("%s is %s, not %s", name, fields[name], want)
		}
	}
	for _, f := range record.ResultFields {
		if _, there := fields[f.Name]; there == f.NoAvro {
			t.Errorf("%s: in Avro %t: %s", f.Name, there, got)
		}
	}
	if subject, ok := fake.GetSchema("out-value", 1); !ok || subject.Type != sr.TypeAvro {
		t.Errorf("registered %+v", subject)
	}
	fake.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusConflict)
		_, err := w.Write([]byte(`{"error_code":409,"message":"incompatible"}`))
		return err == nil
	})
	if _, err := r.Results(t.Context(), "out"); err == nil {
		t.Error("a refused schema is no error")
	}
}

// A permanent answer is requested once. A schema without an answer blocks only records of its own id.
// Unregistered ids do not evict schemas in use.
func TestNoAnswerHoldsOthersUp(t *testing.T) {
	fake := srfake.New()
	defer fake.Close()
	const good, forbidden, slow = 1, 2, 3
	fake.SeedSchema("in-value", 1, good, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
	fake.SeedSchema("in-value", 2, forbidden, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
	var asked sync.Map
	var allowed atomic.Bool
	fake.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		n, _ := asked.LoadOrStore(r.URL.Path, new(atomic.Int32))
		n.(*atomic.Int32).Add(1)
		switch r.URL.Path {
		case "/schemas/ids/2":
			if allowed.Load() {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			_, err := w.Write([]byte(`{"error_code":40301,"message":"not yours"}`))
			return err == nil
		case "/schemas/ids/3":
			w.WriteHeader(http.StatusServiceUnavailable)
			_, err := w.Write([]byte(`{"error_code":50301,"message":"later"}`))
			return err == nil
		}
		return false
	})
	times := func(path string) int32 {
		n, ok := asked.Load(path)
		if !ok {
			return 0
		}
		return n.(*atomic.Int32).Load()
	}
	r := open(t, Settings{URL: fake.URL()})
	if _, _, err := r.Decode(t.Context(), good, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	waiting, stop := context.WithCancel(t.Context())
	var waits sync.WaitGroup
	waits.Go(func() {
		if _, _, err := r.Decode(waiting, slow, []byte(`{}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("a question without an answer: %v", err)
		}
	})
	for ; r.Waiting() == nil; time.Sleep(time.Millisecond) {
	}
	if err := r.Waiting(); !strings.Contains(err.Error(), "later") {
		t.Errorf("waits for %v", err)
	}
	for range 50 {
		var no *record.Rejection
		if _, _, err := r.Decode(t.Context(), forbidden, []byte(`{}`)); !errors.As(err, &no) ||
			!strings.Contains(no.Reason, "not yours") {
			t.Fatalf("a forbidden schema: %v", err)
		}
		if _, _, err := r.Decode(t.Context(), good, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	if n, m := times("/schemas/ids/1"), times("/schemas/ids/2"); n != 1 || m != 1 {
		t.Errorf("asked %d times for a good schema, %d times for a forbidden one", n, m)
	}
	allowed.Store(true)
	r.mutex.Lock()
	r.unknown[forbidden].asked = time.Now().Add(-8 * time.Second)
	r.mutex.Unlock()
	if _, _, err := r.Decode(t.Context(), forbidden, []byte(`{}`)); err != nil {
		t.Errorf("eight seconds after the refusal, which has ended: %v", err)
	}
	for id := range 2 * remembered {
		if _, _, err := r.Decode(t.Context(), 1000+id, []byte(`{}`)); err == nil {
			t.Fatal("a schema that nobody registered")
		}
	}
	if _, _, err := r.Decode(t.Context(), good, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	stop()
	waits.Wait()
	if err := r.Waiting(); err != nil {
		t.Errorf("still waits for %v", err)
	}
}

// A registry whose answer does not end, inflated or not, is one that does not work: records wait for it, and only so
// much of the answer is read.
func TestAnAnswerWithoutEnd(t *testing.T) {
	for _, inflated := range []bool{false, true} {
		var sent atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			to := io.Writer(w)
			if inflated {
				w.Header().Set("Content-Encoding", "gzip")
				packed, err := gzip.NewWriterLevel(w, gzip.HuffmanOnly)
				if err != nil {
					t.Error(err)
				}
				defer packed.Close()
				to = packed
			}
			part := bytes.Repeat([]byte(" "), 1<<20)
			for {
				n, err := to.Write(part)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}))
		r := open(t, Settings{URL: server.URL})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, _, err := r.Decode(ctx, 1, []byte{0})
			ended <- err
		}()
		for r.Waiting() == nil {
			select {
			case err := <-ended:
				t.Fatalf("it does not wait: %v", err)
			case <-time.After(time.Millisecond):
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		server.Close()
		if most := int64(1 << 30); sent.Load() > most { // an answer in ten seconds has more
			t.Errorf("%d bytes were read", sent.Load())
		}
	}
}
