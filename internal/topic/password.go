package topic

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/segmentio/kafka-go/sasl"
)

// password is a SASL mechanism with a user's password. Every new connection reads the file again, so that a
// changed password needs no restart. While the file cannot be read or is empty, the last password is used. A
// pipe is read at the start only: nobody may write to it again.
type password struct {
	name string
	file string // "": the password does not change
	with func(password string) (sasl.Mechanism, error)
	log  *slog.Logger

	mutex sync.Mutex
	last  string
}

// password returns a mechanism that logs in with the user's password of that time. It fails if user or
// password cannot be used.
func (s *Settings) password(name string, log *slog.Logger,
	with func(password string) (sasl.Mechanism, error),
) (sasl.Mechanism, error) {
	if _, err := with(s.Password); err != nil {
		return nil, fmt.Errorf("sasl-user: %w", err)
	}
	return &password{name: name, file: s.PasswordFile, with: with, log: log, last: s.Password}, nil
}

// Name implements sasl.Mechanism.
func (p *password) Name() string { return p.name }

// Start implements sasl.Mechanism.
func (p *password) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	mechanism, err := p.with(p.current())
	if err != nil {
		return nil, nil, err
	}
	return mechanism.Start(ctx)
}

func (p *password) current() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.file == "" {
		return p.last
	}
	if info, err := os.Stat(p.file); err == nil && !info.Mode().IsRegular() {
		return p.last
	}
	content, err := os.ReadFile(p.file)
	now := string(bytes.TrimRight(content, "\r\n"))
	if err == nil && now == "" {
		err = errors.New("it is empty")
	}
	switch {
	case err != nil:
		p.log.Warn("the password file cannot be read: the last password stays in use", "file", p.file, "error", err)
		return p.last
	case now != p.last:
		p.log.Info("the password has changed", "file", p.file)
		p.last = now
	}
	return p.last
}
