// Package registry reads values whose schema is in a Confluent schema registry, and writes results under one.
package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
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
)

// Settings say how the registry is reached.
type Settings struct {
	URL        string // may name the user of basic authentication
	SecretFile string // the user's password, or without a user a bearer token; "": neither
	CA         string // PEM file of the authorities that may sign its certificate; "": the system's
	Cert, Key  string // PEM files of this client's certificate
	Log        *slog.Logger

	user string // of URL
}

// Registry answers from memory what it has asked once. Any number of goroutines may use it.
type Registry struct {
	client *sr.Client
	log    *slog.Logger
	pause  time.Duration // between two questions of a registry that is away

	mutex   sync.Mutex
	schemas map[int]*schema
	unknown map[int]*schema       // numbers that it has answered no to: any sender may write them
	asking  map[int]chan struct{} // closed when the question is over: a number is asked for once at a time
	waiting map[int]error         // why the numbers that are asked for have no answer yet
	said    time.Time             // when the log was last told
}

// schema is one that the registry knows, or, where it knows none of the number, the rejection that says so.
type schema struct {
	kind    sr.SchemaType
	avro    *avro.Schema
	unknown *record.Rejection
	asked   time.Time
}

const (
	// unknownFor is how long a number that the registry does not know is not asked for again.
	unknownFor = 10 * time.Second
	// remembered bounds the schemas in memory; a stream uses a handful.
	remembered = 1000
)

// New prepares to ask a registry; it asks nothing yet.
func New(s Settings) (*Registry, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.CA != "" || s.Cert != "" {
		t, err := tlsOf(&s)
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
		sr.HTTPClient(&http.Client{Timeout: 10 * time.Second, Transport: transport}), sr.PreReq(s.authorize))
	if err != nil {
		return nil, fmt.Errorf("schema registry %s: %w", s.URL, err)
	}
	r := &Registry{
		client: client, log: s.Log, pause: time.Second,
		schemas: map[int]*schema{}, unknown: map[int]*schema{},
		asking: map[int]chan struct{}{}, waiting: map[int]error{},
	}
	return r, nil
}

// authorize puts the password or token on a request. The file is read each time, so that it may change.
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

// withoutUser takes the user out of the addresses.
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

func tlsOf(s *Settings) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("tls-ca: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls-ca: no certificate in %s", s.CA)
		}
	}
	if s.Cert != "" {
		cert, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return nil, fmt.Errorf("tls-cert: %w", err)
		}
		t.Certificates = []tls.Certificate{cert}
	}
	return t, nil
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
		return nil, false, record.Reject(record.Unreadable, "Avro, schema %d: %v", id, err)
	}
	return value, false, nil
}

// known is what is in memory of a schema; nil: it has to be asked for.
func (r *Registry) known(id int) *schema {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if s := r.schemas[id]; s != nil {
		return s
	}
	if s := r.unknown[id]; s != nil && time.Since(s.asked) <= unknownFor {
		return s
	}
	return nil
}

// begin makes the caller the one who asks for a schema; else it returns what is closed when another has.
func (r *Registry) begin(id int) (over chan struct{}, mine bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if over = r.asking[id]; over != nil {
		return over, false
	}
	over = make(chan struct{})
	r.asking[id] = over
	return over, true
}

// end notes what came of asking for a schema; nil: nothing.
func (r *Registry) end(id int, s *schema) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	close(r.asking[id])
	delete(r.asking, id)
	delete(r.waiting, id)
	if s == nil {
		return
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
}

// Waiting is why records wait for the registry; nil: none do.
func (r *Registry) Waiting() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for id, err := range r.waiting {
		return &record.SchemaAway{Schema: id, Err: err}
	}
	return nil
}

// schema asks for a schema until it has an answer or ctx ends.
func (r *Registry) schema(ctx context.Context, id int) (*schema, error) {
	for {
		if s := r.known(id); s != nil {
			return s, nil
		}
		over, mine := r.begin(id)
		if mine {
			break
		}
		select {
		case <-over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var s *schema
	defer func() { r.end(id, s) }()
	err := r.patiently(ctx, fmt.Sprintf("schema %d", id), func() (err error) {
		if s, err = r.ask(ctx, id); err != nil {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			r.waiting[id] = err
		}
		return err
	})
	return s, err
}

// patiently asks until there is an answer or ctx ends, and says once a minute that it waits.
func (r *Registry) patiently(ctx context.Context, what string, ask func() error) error {
	told := false
	for {
		err := ask()
		switch {
		case err == nil:
			if told {
				r.log.Info("the schema registry answers again", "asked", what)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if r.tell() {
			told = true
			r.log.Error("the schema registry does not answer: records wait, nothing is lost", "asked", what, "error",
				err)
		}
		select {
		case <-time.After(r.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell says whether a minute has passed since the log was told of anything that waits.
func (r *Registry) tell() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	due := time.Since(r.said) > time.Minute
	if due {
		r.said = time.Now()
	}
	return due
}

// ask asks once. An error is one that may pass.
func (r *Registry) ask(ctx context.Context, id int) (*schema, error) {
	found, err := r.client.SchemaByID(ctx, id)
	if notFound(err) {
		return &schema{unknown: record.Reject(record.UnknownSchema, "the schema registry knows no schema %d", id)},
			nil
	}
	if r.final(err) {
		no := record.Reject(record.UnknownSchema, "the schema registry refuses schema %d: %v", id, err)
		return &schema{unknown: no}, nil
	}
	if err != nil {
		return nil, err
	}
	s := &schema{kind: found.Type}
	if s.kind != sr.TypeAvro {
		return s, nil
	}
	var cache avro.SchemaCache
	if err := r.references(ctx, &cache, found.References, map[string]bool{}, 0); err != nil {
		if notFound(err) || r.final(err) || errors.Is(err, errSchema) {
			return &schema{unknown: record.Reject(record.UnknownSchema, "schema %d: %v", id, err)}, nil
		}
		return nil, err
	}
	if s.avro, err = cache.Parse(found.Schema); err != nil {
		return &schema{unknown: record.Reject(record.UnknownSchema, "schema %d cannot be used: %v", id, err)}, nil
	}
	return s, nil
}

var errSchema = errors.New("a schema that cannot be used")

// references reads the schemas that one refers to, before it.
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
		if _, err := cache.Parse(found.Schema.Schema); err != nil {
			return fmt.Errorf("%w: %s: %w", errSchema, name, err)
		}
	}
	return nil
}

// incompatible says whether the registry has answered that it does not take a schema, whoever asks.
func incompatible(err error) bool {
	var answer *sr.ResponseError
	return errors.As(err, &answer) && (answer.StatusCode == http.StatusConflict ||
		answer.StatusCode == http.StatusUnprocessableEntity)
}

// final says whether the registry has answered no, and would again. Who asks without leave, who asks too
// often and what is no registry at all have to be waited for: that is not about the schema. Nor is it known
// of a first answer that forbids, as a wrong secret is told apart from a schema that is somebody else's by
// what else is given.
func (r *Registry) final(err error) bool {
	var answer *sr.ResponseError
	if !errors.As(err, &answer) || answer.StatusCode < 400 || answer.StatusCode >= 500 {
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

// notFound says whether the registry has answered that it does not know what it was asked for.
func notFound(err error) bool {
	const schemaNotFound = 40403
	var answer *sr.ResponseError
	return errors.As(err, &answer) && (answer.ErrorCode == schemaNotFound ||
		answer.StatusCode == http.StatusNotFound && answer.ErrorCode != 0)
}
