package main

import (
	"log/slog"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/registry"
)

// decoding is how records are read, as the settings have it.
func decoding(c *config.Config, log *slog.Logger) (record.Options, error) {
	s := &c.Stage
	o := record.Options{
		Format: s.Format, StreamBy: s.StreamBy, TrackBy: s.TrackBy, Dimension: s.Dimension, Model: s.Model,
		Limits: record.Limits{Bytes: int(s.MaxRecord), Key: int(s.MaxKey), Name: s.MaxName, Objects: s.MaxObjects},
		Paths:  record.Paths{Vector: s.VectorField, ID: s.IDField, Time: s.TimeField, Label: s.LabelField, Stream: s.StreamField},
	}
	if r := &c.Registry; r.URL != "" {
		schemas, err := registry.New(registry.Settings{
			URL: r.URL, User: r.User, PasswordFile: r.PasswordFile, TokenFile: r.TokenFile, CA: r.CA, Cert: r.Cert, Key: r.Key, Log: log,
		})
		if err != nil {
			return o, usageError{err}
		}
		o.Schemas = schemas
	}
	if _, err := record.NewDecoder(o); err != nil {
		return o, usageError{err}
	}
	return o, nil
}
