package main

import (
	"context"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
)

// newPage makes the live page of a stage. What is taught on it goes through the labels topic, like any other
// teaching.
func newPage(c *call, client *topic.Client, title, note string, kept *recent.Store) *web.Page {
	l := &c.Config.Listen
	o := web.Options{
		Title: title, Note: note, Recent: kept, ImageURL: l.ImageURL(), ImageHosts: l.Images,
		UserHeader: l.UserHeader, MaxWrong: c.Config.Memory.MaxWrong, Log: c.Log,
	}
	if labels := c.Config.Topics.Labels; labels != "" {
		o.Say, o.LabelsTopic = client.Write, labels
		o.ForgetName = func(ctx context.Context, n record.Name) ([]record.Receipt, error) {
			return forgetName(ctx, c, client, n)
		}
	}
	return web.New(o)
}

// newRecent returns the store of recently answered items; nil if none are kept.
func newRecent(c *call) *recent.Store {
	if c.Config.Memory.Recent == 0 {
		return nil
	}
	most := int64(c.Config.Memory.Recent)
	if budget := int64(c.Config.Memory.Budget); budget > 0 {
		most = min(most, budget/8)
	}
	return recent.New(most)
}
