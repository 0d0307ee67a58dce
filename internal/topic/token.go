package topic

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go/sasl"
)

// bearer is the SASL mechanism OAUTHBEARER (RFC 7628). Every new connection sends a token, which is renewed
// before it expires.
type bearer struct {
	file    string
	command string

	mutex  sync.Mutex
	token  string
	until  time.Time // when to fetch the next one
	expiry time.Time // zero: not known
}

const (
	// tokenTimeout bounds the command that fetches a token.
	tokenTimeout = 20 * time.Second
	// tokenAge is how long a token without an expiry time is used.
	tokenAge = time.Minute
	// longestToken bounds a token's size, far above that of any identity provider.
	longestToken = 1 << 20
)

// tokenError marks a failure to get a token as temporary.
type tokenError struct{ error }

func (e tokenError) Unwrap() error { return e.error }

// newBearer fetches the first token, so that wrong settings are an error at once.
func newBearer(file, command string) (*bearer, error) {
	if (file == "") == (command == "") {
		return nil, errors.New("sasl oauthbearer needs a file or a command that gives the token, and not both")
	}
	b := &bearer{file: file, command: command}
	_, err := b.current(context.Background())
	return b, err
}

// Name implements sasl.Mechanism.
func (b *bearer) Name() string { return "OAUTHBEARER" }

// Start implements sasl.Mechanism.
func (b *bearer) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	token, err := b.current(ctx)
	if err != nil {
		return nil, nil, err
	}
	return bearerAnswer{b}, []byte("n,,\x01auth=Bearer " + token + "\x01\x01"), nil
}

type bearerAnswer struct{ *bearer }

// Next implements sasl.StateMachine. An empty challenge accepts the token; otherwise it is the broker's
// reason for the refusal.
func (b bearerAnswer) Next(_ context.Context, challenge []byte) (bool, []byte, error) {
	if len(challenge) == 0 {
		return true, nil, nil
	}
	b.mutex.Lock()
	b.until = time.Time{} // fetch a new one: this one may have been revoked
	b.mutex.Unlock()
	return false, nil, fmt.Errorf("sasl oauthbearer: the broker refuses the token: %.200q", challenge)
}

// current returns a valid token, a new one if it is time to renew it. If that fails, the present one is used
// until it expires.
func (b *bearer) current(ctx context.Context) (string, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := time.Now()
	if now.Before(b.until) {
		return b.token, nil
	}
	token, err := b.fetch(ctx)
	if err != nil {
		if b.token != "" && now.Before(b.expiry) {
			return b.token, nil
		}
		return "", tokenError{err}
	}
	b.token, b.expiry = token, expiryOf(token)
	switch {
	case b.file != "":
		b.until = time.Time{} // read the file each time, as it may change at any time
	case b.expiry.IsZero():
		b.until = now.Add(tokenAge)
	default:
		b.until = now.Add(b.expiry.Sub(now) / 10 * 8)
	}
	return b.token, nil
}

func (b *bearer) fetch(ctx context.Context) (string, error) {
	var raw []byte
	var err error
	if b.file != "" {
		if raw, err = os.ReadFile(b.file); err != nil {
			return "", fmt.Errorf("sasl-password-file: %w", err)
		}
	} else {
		shell, option := "sh", "-c"
		if runtime.GOOS == "windows" {
			shell, option = "cmd", "/c"
		}
		ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
		defer cancel()
		command := exec.CommandContext(ctx, shell, option, b.command)
		command.WaitDelay = time.Second
		if raw, err = command.Output(); err != nil {
			var exit *exec.ExitError
			if errors.As(err, &exit) && len(exit.Stderr) > 0 {
				err = fmt.Errorf("%w: %.200s", err, bytes.TrimSpace(exit.Stderr))
			}
			return "", fmt.Errorf("sasl-password-file: the command: %w", err)
		}
	}
	token := strings.TrimSpace(string(raw))
	if token == "" || len(token) > longestToken || strings.ContainsAny(token, "\x00\x01\r\n ") {
		return "", errors.New("sasl-password-file: what the file holds, or the command prints, is no token")
	}
	return token, nil
}

// expiryOf returns the expiry time in a JWT, or in a signed URL as Amazon MSK takes it (AWS Signature Version 4, in base64);
// zero if there is none, or the token is neither.
func expiryOf(token string) time.Time {
	parts := strings.Split(token, ".")
	if signed, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(token, "=")); err == nil {
		of, err := url.Parse(string(signed))
		if err != nil {
			return time.Time{}
		}
		from, err := time.Parse("20060102T150405Z", of.Query().Get("X-Amz-Date"))
		seconds, bad := strconv.Atoi(of.Query().Get("X-Amz-Expires"))
		if err != nil || bad != nil {
			return time.Time{}
		}
		return from.Add(time.Duration(seconds) * time.Second)
	}
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}
	}
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Expiry <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expiry), 0)
}
