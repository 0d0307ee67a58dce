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
	URL          string
	User         string // of basic authentication; "": none
	PasswordFile string
	TokenFile    string // of bearer authentication; "": none
	CA           string // PEM file of the authorities that may sign its certificate; "": the system's
	Cert, Key    string // PEM files of this client's certificate
	Log          *slog.Logger
}

// Registry answers from memory what it has asked once. Any number of goroutines may use it.
type Registry struct {
	client *sr.Client
	log    *slog.Logger
	pause  time.Duration // between two questions of a registry that is away
	asking chan struct{} // holds a token: one question at a time

	mutex   sync.Mutex
	schemas map[int]*schema
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
	client, err := sr.NewClient(
		sr.URLs(strings.Split(s.URL, ",")...), sr.UserAgent("slkstream"),
		sr.HTTPClient(&http.Client{Timeout: 10 * time.Second, Transport: transport}), sr.PreReq(s.authorize))
	if err != nil {
		return nil, fmt.Errorf("schema registry %s: %w", s.URL, err)
	}
	r := &Registry{
		client: client, log: s.Log, pause: time.Second, asking: make(chan struct{}, 1),
		schemas: map[int]*schema{},
	}
	r.asking <- struct{}{}
	return r, nil
}

// authorize puts the password or token on a request. Their files are read each time, so that they may change.
func (s *Settings) authorize(request *http.Request) error {
	read := func(file string) (string, error) {
		b, err := os.ReadFile(file)
		return strings.TrimSpace(string(b)), err
	}
	switch {
	case s.TokenFile != "":
		token, err := read(s.TokenFile)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
	case s.User != "":
		password, err := read(s.PasswordFile)
		if err != nil {
			return err
		}
		request.SetBasicAuth(s.User, password)
	}
	return nil
}

func tlsOf(s *Settings) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("schema-registry-ca: %w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("schema-registry-ca: no certificate in %s", s.CA)
		}
	}
	if s.Cert != "" {
		cert, err := tls.LoadX509KeyPair(s.Cert, s.Key)
		if err != nil {
			return nil, fmt.Errorf("schema-registry-cert: %w", err)
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
	s := r.schemas[id]
	if s != nil && s.unknown != nil && time.Since(s.asked) > unknownFor {
		return nil
	}
	return s
}

// schema asks for a schema until it has an answer or ctx ends.
func (r *Registry) schema(ctx context.Context, id int) (*schema, error) {
	if s := r.known(id); s != nil {
		return s, nil
	}
	select {
	case <-r.asking:
		defer func() { r.asking <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := r.known(id); s != nil { // another goroutine has asked meanwhile
		return s, nil
	}
	var s *schema
	err := r.patiently(ctx, fmt.Sprintf("schema %d", id), func() (err error) {
		s, err = r.ask(ctx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.asked = time.Now()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.schemas) >= remembered {
		clear(r.schemas)
	}
	r.schemas[id] = s
	return s, nil
}

// patiently asks until there is an answer or ctx ends, and says once a minute that it waits.
func (r *Registry) patiently(ctx context.Context, what string, ask func() error) error {
	var said time.Time
	for {
		err := ask()
		switch {
		case err == nil:
			if !said.IsZero() {
				r.log.Info("the schema registry answers again", "asked", what)
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if time.Since(said) > time.Minute {
			said = time.Now()
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

// ask asks once. An error is one that may pass.
func (r *Registry) ask(ctx context.Context, id int) (*schema, error) {
	found, err := r.client.SchemaByID(ctx, id)
	if notFound(err) {
		return &schema{unknown: record.Reject(record.UnknownSchema, "the schema registry knows no schema %d", id)},
			nil
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
		if notFound(err) || errors.Is(err, errSchema) {
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

// notFound says whether the registry has answered that it does not know what it was asked for.
func notFound(err error) bool {
	const schemaNotFound = 40403
	var answer *sr.ResponseError
	return errors.As(err, &answer) && (answer.ErrorCode == schemaNotFound ||
		answer.StatusCode == http.StatusNotFound && answer.ErrorCode != 0)
}
