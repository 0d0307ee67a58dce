package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// history lists the events of a run, for people to read after a failure.
type history struct {
	mu         sync.Mutex
	begin      time.Time
	lines      []string
	violations []string
	live       io.Writer // nil: events are not printed
}

func newHistory(live io.Writer) *history { return &history{begin: time.Now(), live: live} }

// note adds an event.
func (h *history) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := fmt.Sprintf("%9.3f  %s", time.Since(h.begin).Seconds(), fmt.Sprintf(format, args...))
	h.lines = append(h.lines, line)
	if h.live != nil {
		fmt.Fprintln(h.live, line)
	}
}

// violation adds a broken promise.
func (h *history) violation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	h.note("VIOLATION: %s", text)
	h.mu.Lock()
	h.violations = append(h.violations, text)
	h.mu.Unlock()
}

func (h *history) failed() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.violations...)
}

// last returns the last n events; 0: all of them.
func (h *history) last(n int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// logger adds a stage's log to the history, warnings and above.
func (h *history) logger(who string) *slog.Logger { return slog.New(&noting{history: h, who: who}) }

type noting struct {
	history *history
	who     string
	attrs   []slog.Attr
}

func (n *noting) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (n *noting) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	add := func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	}
	for _, a := range n.attrs {
		add(a)
	}
	r.Attrs(add)
	n.history.note("%s: %s%s", n.who, r.Message, b.String())
	return nil
}

func (n *noting) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &noting{n.history, n.who, append(n.attrs[:len(n.attrs):len(n.attrs)], attrs...)}
}

func (n *noting) WithGroup(string) slog.Handler { return n }
