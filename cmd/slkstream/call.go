package main

import (
	"io"
	"log/slog"
	"slices"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/broker"
)

// call is one invocation of a command: its settings, loaded and validated, and its input and output.
type call struct {
	Config *config.Config
	Args   []string
	Log    *slog.Logger
	In     io.Reader
	Out    io.Writer // results
	Err    io.Writer // messages; logs go through Log

	console *console       // destination of Err and Log
	broker  *broker.Broker // the embedded one, if it is used
	closers []func()
}

// atEnd has a function called when the command ends, the last one first.
func (c *call) atEnd(closer func()) { c.closers = append(c.closers, closer) }

func (c *call) end() {
	for _, closer := range slices.Backward(c.closers) {
		closer()
	}
}

func newLogger(w io.Writer, g config.General) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(g.LogLevel())) != nil {
		level = slog.LevelInfo // not reached: config allows only the four names
	}
	options := &slog.HandlerOptions{Level: level}
	if g.LogForm() == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
