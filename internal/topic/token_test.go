package topic_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/test/kafka"
)

// doorkeeper is a listener that adds OAUTHBEARER authentication to the embedded broker.
type doorkeeper struct {
	net.Listener
	mutex sync.Mutex
	good  string
	seen  []string
}

func (d *doorkeeper) Accept() (net.Conn, error) {
	outside, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	inside, broker := net.Pipe()
	go func() {
		defer inside.Close()
		defer outside.Close()
		d.keep(outside, inside)
	}()
	go func() {
		io.Copy(outside, inside)
		outside.Close()
	}()
	return broker, nil
}

// keep answers the authentication requests, and forwards all others once the token is accepted.
func (d *doorkeeper) keep(outside, inside net.Conn) {
	const handshake, authenticate, versions = 17, 36, 18
	for known := false; ; {
		request := make([]byte, 4)
		if _, err := io.ReadFull(outside, request); err != nil {
			return
		}
		request = append(request, make([]byte, binary.BigEndian.Uint32(request))...)
		if _, err := io.ReadFull(outside, request[4:]); err != nil {
			return
		}
		key, version, correlation := binary.BigEndian.Uint16(request[4:]), binary.BigEndian.Uint16(request[6:]), request[8:12]
		answer := append(make([]byte, 4), correlation...)
		switch {
		case key == handshake:
			answer = append(answer, 0, 0, 0, 0, 0, 1, 0, 11)
			answer = append(answer, "OAUTHBEARER"...)
		case key == authenticate:
			d.mutex.Lock()
			known = bytes.Contains(request, []byte("n,,\x01auth=Bearer "+d.good+"\x01\x01"))
			_, token, _ := strings.Cut(string(request), "Bearer ")
			d.seen = append(d.seen, strings.TrimRight(token, "\x01"))
			d.mutex.Unlock()
			said := `{"status":"invalid_token"}`
			if known {
				said = ""
			}
			answer = append(answer, 0, 0, 0xff, 0xff)
			answer = append(binary.BigEndian.AppendUint32(answer, uint32(len(said))), said...)
			if version >= 1 {
				answer = append(answer, make([]byte, 8)...)
			}
		case known || key == versions:
			if _, err := inside.Write(request); err != nil {
				return
			}
			continue
		default:
			return
		}
		binary.BigEndian.PutUint32(answer, uint32(len(answer)-4))
		if _, err := outside.Write(answer); err != nil {
			return
		}
	}
}

func (d *doorkeeper) admit(token string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.good = token
}

func guarded(t *testing.T) (address string, d *doorkeeper) {
	t.Helper()
	d = &doorkeeper{}
	server, err := broker.Serve("", 0, slog.New(slog.NewTextHandler(io.Discard, nil)),
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			var err error
			d.Listener, err = net.Listen(network, address)
			return d, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server.Address, d
}

func write(t *testing.T, client *topic.Client, name string) error {
	t.Helper()
	ctx := within(t, 20*time.Second)
	if err := client.Ensure(ctx, topic.Description{Name: name, Partitions: 1}); err != nil {
		return err
	}
	return client.Write(ctx, []record.Out{{Topic: name, Value: []byte("v")}})
}

// jwt returns a token with an expiry time.
func jwt(name string, expiry time.Time) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"sub":%q,"exp":%d}`, name, expiry.Unix())) + "."
}

// A token comes from a file or a command, new connections use the newest, and a refusal is an error.
func TestTokens(t *testing.T) {
	address, door := guarded(t)
	file := filepath.Join(t.TempDir(), "token")
	put := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]topic.Settings{
		"file":    {TokenFile: file},
		"command": {TokenCommand: "cat '" + file + "'"},
	} {
		t.Run(name, func(t *testing.T) {
			var said lockedBuffer
			s.Brokers, s.SASL, s.Log = []string{address}, "oauthbearer", slog.New(slog.NewTextHandler(&said, nil))
			// the first token expires at once
			first, second := jwt("first", time.Now()), jwt("second", time.Now().Add(time.Hour))
			put(first)
			door.admit(first)
			client, err := topic.Connect(s)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if err := write(t, client, "first-"+name); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(said.String(), "oauthbearer without tls") {
				t.Error("a token over an open connection is not warned of")
			}
			put(second)
			door.admit(second)
			conn, err := client.Dialer().DialContext(within(t, 10*time.Second), "tcp", address)
			if err != nil {
				t.Fatalf("a new connection with a new token: %v", err)
			}
			conn.Close()
			door.admit("another")
			if conn, err := client.Dialer().DialContext(within(t, 10*time.Second), "tcp", address); err == nil ||
				!strings.Contains(err.Error(), "invalid_token") {
				t.Errorf("a token that is refused: %v", err)
				if conn != nil {
					conn.Close()
				}
			}
		})
	}
	for name, s := range map[string]topic.Settings{
		"neither": {}, "both": {TokenFile: file, TokenCommand: "true"}, "no file": {TokenFile: file + "x"},
		"fails": {TokenCommand: "echo because >&2; exit 3"}, "empty": {TokenCommand: "true"},
	} {
		s.Brokers, s.SASL = []string{address}, "oauthbearer"
		if client, err := topic.Connect(s); err == nil {
			client.Close()
			t.Errorf("%s is taken", name)
		}
	}
}

// A real Kafka closes connections whose token has expired. Writing and reading continue with the next token,
// and fail without one. The broker is set up to accept unsigned tokens (see test/kafka).
func TestTokensOfKafka(t *testing.T) {
	if os.Getenv("SLKSTREAM_TEST_SASL") == "" {
		t.Skip("only a real Kafka asks for tokens: go run ./test/kafka/with -secure go test ...")
	}
	const lives = 4 * time.Second
	_, address, certificates := secured(t)
	file := filepath.Join(t.TempDir(), "token")
	put := func(expiry time.Time) {
		next := file + ".next"
		if err := os.WriteFile(next, []byte(jwt("camera", expiry)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, file); err != nil {
			t.Fatal(err)
		}
	}
	expiry := time.Now().Add(lives)
	put(expiry)
	settings := topic.Settings{
		Brokers: []string{address}, CA: certificates.CA, SASL: "oauthbearer",
		TokenFile: file,
	}
	client, err := topic.Connect(settings)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := within(t, 2*time.Minute)
	if err := client.Ensure(ctx, topic.Description{Name: "tokens", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	end, err := client.Offset(ctx, "tokens", 0, topic.Latest, true)
	if err != nil {
		t.Fatal(err)
	}
	reader := client.NewReader(topic.ReaderSettings{
		Topic: "tokens", Offset: end,
		MaxWait: 100 * time.Millisecond,
	})
	for expired := 0; expired < 3; {
		// renew at half of a token's lifetime, as identity providers advise
		if time.Now().After(expiry.Add(-lives / 2)) {
			expiry = expiry.Add(lives)
			put(expiry)
			expired++
		}
		if err := client.Write(ctx, []record.Out{{Topic: "tokens", Value: []byte("v")}}); err != nil {
			t.Fatalf("after %d tokens: %v", expired, err)
		}
		end++
		if got := readTo(t, reader, end); len(got) != 1 {
			t.Fatalf("%d records", len(got))
		}
	}
	put(time.Now().Add(-time.Hour))
	refused, err := topic.Connect(settings)
	if err != nil {
		t.Fatal(err)
	}
	defer refused.Close()
	conn, err := refused.Dialer().DialContext(ctx, "tcp", address)
	if err == nil {
		conn.Close()
		t.Error("a token that has expired lets in")
	}
}

// The next connection uses renewed certificates without a restart. Invalid files are ignored.
func TestRenewedCertificates(t *testing.T) {
	if os.Getenv("SLKSTREAM_TEST_TLS") != "" {
		t.Skip("the certificates of the environment are not to be changed")
	}
	withTLS, _, files := secured(t)
	dir := t.TempDir()
	stranger, err := kafka.WriteCertificates(filepath.Join(dir, "stranger"))
	if err != nil {
		t.Fatal(err)
	}
	s := topic.Settings{
		Brokers: []string{withTLS}, CA: filepath.Join(dir, "ca"),
		Cert: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key"), Log: slog.New(slog.DiscardHandler),
	}
	at := time.Now()
	use := func(from kafka.Certificates) {
		t.Helper()
		at = at.Add(time.Second)
		for to, path := range map[string]string{s.CA: from.CA, s.Cert: from.Cert, s.Key: from.Key} {
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(to, b, 0o600)
			}
			if err == nil {
				err = os.Chtimes(to, at, at)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	use(stranger)
	client, err := topic.Connect(s)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	dial := func() error {
		conn, err := client.Dialer().DialContext(within(t, 10*time.Second), "tcp", withTLS)
		if err != nil {
			return err
		}
		defer conn.Close()
		_, err = conn.Brokers()
		return err
	}
	if dial() == nil {
		t.Fatal("a broker of an unknown authority is trusted")
	}
	use(files)
	if err := dial(); err != nil {
		t.Errorf("after the certificates were renewed: %v", err)
	}
	if err := os.WriteFile(s.CA, []byte("half a fi"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dial(); err != nil {
		t.Errorf("with a file that is half written: %v", err)
	}
}
