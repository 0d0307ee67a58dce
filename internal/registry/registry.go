// Package registry decodes values whose schema is in a Confluent schema registry, and encodes results
// in Avro.
package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Settings configure the connection to the registry.
type Settings struct {
	URL        string // may be several, separated by commas, and may name the user of basic authentication
	SecretFile string // file of the user's password, or without a user of a bearer token; "": neither
	CA         string // PEM file of the authorities for the registry's certificate; "": the system's
	Cert, Key  string // PEM files of this client's certificate
	Log        *slog.Logger

	user string // of URL
}

// Registry fetches schemas and caches them. It is safe for concurrent use.
type Registry struct {
	client *sr.Client
	log    *slog.Logger

	mutex   sync.Mutex
	schemas map[int]*schema
	unknown map[int]*schema       // ids without a usable schema; kept apart, as any sender may write any id
	asking  map[int]chan struct{} // requests in flight, one per id; closed at the end
	waiting map[int]error         // the last error of each request that waits
}

// schema is a cached schema, or, in unknown, the rejection of records with an id that has no usable schema.
type schema struct {
	kind    sr.SchemaType
	text    string
	avro    *avro.Schema
	unknown *record.Rejection
	asked   time.Time // of unknown
	checked time.Time // when it was last asked for again
}

const (
	// unknownFor is how long an id without a usable schema is cached: a refusal that ends is over within 10 s.
	unknownFor = 5 * time.Second
	// remembered bounds the cached schemas; a topic uses a handful.
	remembered = 1000
)

// New returns a client of a registry without contacting it.
func New(s Settings) (*Registry, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.CA != "" || s.Cert != "" {
		t, err := topic.TLS(s.CA, s.Cert, s.Key)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = t
	}
	addresses, err := s.withoutUser()
	if err != nil {
		return nil, err
	}
	client, err := sr.NewClient(
		sr.URLs(addresses...), sr.UserAgent("slkstream"),
		sr.HTTPClient(&http.Client{Timeout: 10 * time.Second, Transport: bounded{transport}}), sr.PreReq(s.authorize))
	if err != nil {
		return nil, fmt.Errorf("schema registry %s: %w", s.URL, err)
	}
	r := &Registry{
		client: client, log: s.Log,
		schemas: map[int]*schema{}, unknown: map[int]*schema{},
		asking: map[int]chan struct{}{}, waiting: map[int]error{},
	}
	return r, nil
}

// bounded fails an answer of more than longestAnswer bytes, inflated. sr reads an answer whole, whatever its length.
type bounded struct{ http.RoundTripper }

// longestAnswer is far above any schema: a registry takes a megabyte by default.
const longestAnswer = 8 << 20

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, longestAnswer)
	}
	return answer, err
}

// authorize adds the password or token to a request. It reads the file each time, because it may change.
func (s *Settings) authorize(request *http.Request) error {
	if s.SecretFile == "" {
		return nil
	}
	secret, err := os.ReadFile(s.SecretFile)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(secret))
	if s.user != "" {
		request.SetBasicAuth(s.user, text)
	} else {
		request.Header.Set("Authorization", "Bearer "+text)
	}
	return nil
}

// withoutUser returns the addresses without the user, which it keeps in s.
func (s *Settings) withoutUser() ([]string, error) {
	var addresses []string
	for text := range strings.SplitSeq(s.URL, ",") {
		address, err := url.Parse(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("schema-registry: %w", err)
		}
		if address.User != nil {
			s.user = address.User.Username()
			address.User = nil
		}
		addresses = append(addresses, address.String())
	}
	return addresses, nil
}

// Decode implements record.Schemas.
func (r *Registry) Decode(ctx context.Context, id int,
	payload []byte,
) (value []byte, protobuf bool, err error) {
	s, err := r.schema(ctx, id)
	switch {
	case err != nil:
		return nil, false, err
	case s.unknown != nil:
		return nil, false, s.unknown
	}
	switch s.kind {
	case sr.TypeJSON:
		return payload, false, nil
	case sr.TypeProtobuf:
		message := record.MessageIndex(payload)
		if message == nil {
			return nil, false, record.Reject(record.Unreadable, "schema %d: no Protobuf message index", id)
		}
		return message, true, nil
	}
	value, err = avroJSON(s.avro, payload)
	if err != nil {
		if now := r.changed(ctx, id, s); now != s {
			return r.Decode(ctx, id, payload)
		}
	}
	fault := record.Unreadable
	if number := (*json.UnsupportedValueError)(nil); errors.As(err, &number) {
		fault = record.BadValue
	}
	if err != nil {
		return nil, false, record.Reject(fault, "Avro, schema %d: %v", id, err)
	}
	return value, false, nil
}

// avroJSON converts an Avro value to JSON: records and maps become objects, a union the value that it holds,
// bytes base64, times RFC 3339. NaN and infinity, which JSON lacks, are an error.
func avroJSON(schema *avro.Schema, payload []byte) ([]byte, error) {
	var value any
	rest, err := schema.Decode(payload, &value)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes are left over", len(rest))
	}
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(value)
	if year := (*json.MarshalerError)(nil); errors.As(err, &year) {
		return json.Marshal(timesAsText(value))
	}
	return out, err
}

// timesAsText replaces times by texts: json refuses years beyond 9999, as of nanoseconds sent for
// microseconds, even in a field that nobody reads.
func timesAsText(value any) any {
	switch v := value.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any:
		for i := range v {
			v[i] = timesAsText(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = timesAsText(v[name])
		}
	}
	return value
}

// known returns the cached schema; nil: it must be fetched. The caller holds the mutex.
func (r *Registry) known(id int) *schema {
	s := r.schemas[id]
	if no := r.unknown[id]; s == nil && no != nil && time.Since(no.asked) <= unknownFor {
		return no
	}
	return s
}

// Waiting returns why records wait for the registry; nil: none do.
func (r *Registry) Waiting() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for id, err := range r.waiting {
		return &record.SchemaAway{Schema: id, Err: err}
	}
	return nil
}

// await waits until nobody asks for an id. The caller holds the mutex, and does so again at the end.
func (r *Registry) await(ctx context.Context, id int) error {
	for over := r.asking[id]; over != nil && ctx.Err() == nil; over = r.asking[id] {
		r.mutex.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		r.mutex.Lock()
	}
	return ctx.Err()
}

// alone asks for an id while others await that. The caller holds the mutex, and does so again at the end.
func (r *Registry) alone(id int, ask func()) {
	over := make(chan struct{})
	r.asking[id] = over
	r.mutex.Unlock()
	ask()
	r.mutex.Lock()
	close(over)
	delete(r.asking, id)
}

// schema returns a schema, from the cache or from the registry. It retries until the registry answers or
// ctx ends. One caller fetches a schema, and the others wait for it.
func (r *Registry) schema(ctx context.Context, id int) (s *schema, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.known(id); s != nil {
		return s, nil
	}
	if err := r.await(ctx, id); err != nil {
		return nil, err
	}
	if s := r.known(id); s != nil {
		return s, nil
	}
	r.alone(id, func() {
		err = r.patiently(ctx, fmt.Sprintf("for schema %d", id), func() (err error) {
			if s, err = r.ask(ctx, id); err != nil {
				r.mutex.Lock()
				defer r.mutex.Unlock()
				r.waiting[id] = err
			}
			return err
		})
	})
	delete(r.waiting, id)
	if err != nil {
		return nil, err
	}
	s.asked = time.Now()
	into := r.schemas
	if s.unknown != nil {
		into = r.unknown
	}
	if len(into) >= remembered {
		clear(into)
	}
	into[id] = s
	return s, nil
}

// changed asks for a cached schema again that a value does not fit, and returns the one that is cached then: a registry
// that was made anew may have another under the same id. It asks once in unknownFor, and keeps what it has unless the
// registry answers with another.
func (r *Registry) changed(ctx context.Context, id int, s *schema) *schema {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := r.await(ctx, id); err != nil {
		return s
	}
	if now := r.schemas[id]; now != s || time.Since(s.checked) <= unknownFor {
		return cmp.Or(now, s)
	}
	s.checked = time.Now()
	var now *schema
	var err error
	r.alone(id, func() { now, err = r.ask(ctx, id) })
	if err != nil || now.unknown != nil || now.text == s.text {
		return s
	}
	r.log.Warn("the schema registry has another schema under the same id: values are read by that", "schema", id)
	r.schemas[id] = now
	return now
}

// patiently retries ask until it succeeds or ctx ends: records wait, nothing is lost.
func (r *Registry) patiently(ctx context.Context, what string, ask func() error) error {
	always := func(error) bool { return ctx.Err() == nil }
	err := topic.NewOutage(r.log, "asking the schema registry "+what).Retry(ctx, always, ask)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// ask fetches a schema without retrying. An error is temporary; a permanent refusal is a schema with
// unknown set.
func (r *Registry) ask(ctx context.Context, id int) (*schema, error) {
	found, err := r.client.SchemaByID(ctx, id)
	if err == nil && strings.TrimSpace(found.Schema) == "" {
		err = errNoRegistry
	}
	s := &schema{kind: found.Type, text: found.Schema}
	what := "the schema registry refuses schema %d: %v"
	if notFound(err) {
		what = "the schema registry knows no schema %d: %v"
	}
	if err == nil && s.kind == sr.TypeAvro {
		var cache avro.SchemaCache
		if err = r.references(ctx, &cache, found.References, map[string]bool{}, 0); err == nil {
			if s.avro, err = cache.Parse(found.Schema); err != nil {
				err = fmt.Errorf("%w: %w", errSchema, err)
			}
		}
		what = "schema %d: %v"
	}
	switch {
	case notFound(err), r.final(err), errors.Is(err, errSchema):
		return &schema{unknown: record.Reject(record.UnknownSchema, what, id, err)}, nil
	case err != nil:
		return nil, err
	}
	return s, nil
}

var (
	errSchema     = errors.New("a schema that cannot be used")
	errNoRegistry = errors.New("the answer holds no schema: is this the address of a schema registry?")
)

// references parses the schemas that a schema refers to into cache, each after its own references.
func (r *Registry) references(ctx context.Context, cache *avro.SchemaCache, list []sr.SchemaReference,
	read map[string]bool, depth int,
) error {
	const deepest = 20
	if depth > deepest {
		return fmt.Errorf("%w: more than %d references within each other", errSchema, deepest)
	}
	for _, reference := range list {
		name := fmt.Sprintf("%s/%d", reference.Subject, reference.Version)
		if read[name] {
			continue
		}
		read[name] = true
		found, err := r.client.SchemaByVersion(ctx, reference.Subject, reference.Version)
		if err != nil {
			return err
		}
		if err := r.references(ctx, cache, found.References, read, depth+1); err != nil {
			return err
		}
		if strings.TrimSpace(found.Schema.Schema) == "" {
			return errNoRegistry
		}
		if _, err := cache.Parse(found.Schema.Schema); err != nil {
			return fmt.Errorf("%w: %s: %w", errSchema, name, err)
		}
	}
	return nil
}

// incompatible says whether the registry has refused to register the schema because of its content.
func incompatible(err error) bool {
	var answer *sr.ResponseError
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusConflict ||
		answer.StatusCode == http.StatusUnprocessableEntity)
}

// final says whether the registry's refusal is permanent, because it is about the schema. Missing
// credentials, too many requests and a server that is not a registry, which gives no error code, are not: the caller must
// retry. 403 may mean either a wrong secret or a schema that this user must not read. It is permanent only if the
// registry has answered another request, which shows that the secret is right.
func (r *Registry) final(err error) bool {
	var answer *sr.ResponseError
	if !errors.As(err, &answer) || answer.StatusCode < 400 || answer.StatusCode >= 500 || answer.ErrorCode == 0 {
		return false
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusNotFound, http.StatusRequestTimeout,
		http.StatusTooManyRequests:
		return false
	case http.StatusForbidden:
		r.mutex.Lock()
		defer r.mutex.Unlock()
		return len(r.schemas) > 0
	}
	return true
}

// notFound says whether the registry has answered that the schema does not exist. A 404 without its error
// code is from a server that is not a registry.
func notFound(err error) bool {
	const schemaNotFound = 40403
	var answer *sr.ResponseError
	return errors.As(err, &answer) && (answer.ErrorCode == schemaNotFound ||
		answer.StatusCode == http.StatusNotFound && answer.ErrorCode != 0)
}
