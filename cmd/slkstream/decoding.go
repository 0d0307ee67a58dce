package main

import (
	"context"
	"log/slog"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/registry"
)

// decoding returns the options for reading records.
func decoding(c *config.Config, log *slog.Logger) (record.Options, error) {
	s := &c.Stage
	o := record.Options{
		Format: s.Format, StreamBy: s.StreamBy, TrackBy: s.TrackBy, Dimension: s.Dimension, Model: s.Model,
		Paths: paths(s.Field),
	}
	if c.Registry.URL() != "" {
		schemas, err := openRegistry(c, log)
		if err != nil {
			return o, err
		}
		o.Schemas = schemas
	}
	if _, err := record.NewDecoder(o); err != nil {
		return o, usageError{err}
	}
	return o, nil
}

// paths returns the mapping that a setting gives.
func paths(field func(name string) string) record.Paths {
	return record.Paths{
		Vector: field("vector"), ID: field("id"), Time: field("time"), Label: field("label"),
		Stream: field("stream"), Frame: field("frame"), Track: field("track"), Attributes: field("attributes"),
	}
}

func openRegistry(c *config.Config, log *slog.Logger) (*registry.Registry, error) {
	opened, err := registry.New(registry.Settings{
		URL: c.Registry.URL(), SecretFile: c.Registry.SecretFile(), CA: c.Kafka.TLSCA, Cert: c.Kafka.TLSCert, Key: c.Kafka.TLSKey,
		Log: log,
	})
	if err != nil {
		return nil, usageError{err}
	}
	return opened, nil
}

// resultForm returns the form in which results are written. It registers the schema of Avro.
func resultForm(ctx context.Context, c *config.Config, log *slog.Logger) (record.ResultForm, error) {
	t := &c.Topics
	switch {
	case t.IsTemplate():
		form, err := record.ResultTemplate(t.OutFormat)
		if err != nil {
			return form, usageError{err}
		}
		return form, nil
	case t.OutFormat == "cloudevents":
		return record.ResultEvent(), nil
	case t.OutFormat == "avro":
		r, err := openRegistry(c, log)
		if err != nil {
			return record.ResultForm{}, err
		}
		return r.Results(ctx, t.Out)
	}
	return record.ResultJSON(), nil
}
