package main

import (
	"context"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/topic"
)

// connect returns a client of the configured brokers or, if none are configured, of the embedded one.
// embedded says which: the embedded broker creates topics on first use. The caller calls disconnect last.
// topics lists every topic used; none means any.
func connect(ctx context.Context, c *call,
	topics ...string,
) (client *topic.Client, embedded bool, disconnect func(), err error) {
	k, s := c.Config.Kafka, brokerSettings(c)
	s.Topics = topics
	if len(k.Brokers) > 0 {
		client, err = topic.Connect(s)
		if err != nil {
			return nil, false, nil, err
		}
		return client, false, client.Close, nil
	}
	b, err := openEmbedded(ctx, c, k)
	if err != nil {
		return nil, true, nil, err
	}
	c.Log.Info("no brokers are set: using the embedded broker", "address", b.Address(), "dir", k.EmbeddedDir)
	s.Brokers = []string{b.Address()}
	client, err = topic.Connect(s)
	if err != nil {
		b.Close()
		return nil, true, nil, err
	}
	return client, true, func() {
		client.Close()
		if err := b.Close(); err != nil {
			c.Log.Error("closing the embedded broker", "error", err)
		}
	}, nil
}

// brokerSettings returns the connection settings for Kafka.
func brokerSettings(c *call) topic.Settings {
	k := c.Config.Kafka
	file, command := k.Token()
	s := topic.Settings{
		Brokers: k.Brokers, ClientID: k.ClientID, TLS: k.TLS, CA: k.TLSCA, Cert: k.TLSCert, Key: k.TLSKey,
		SASL: k.SASL, User: k.SASLUser, Password: string(k.SASLPassword), TokenCommand: command, Log: c.Log,
	}
	if k.SASL == "oauthbearer" {
		s.TokenFile = file
	}
	return s
}

func openEmbedded(ctx context.Context, c *call, k config.Kafka) (*broker.Broker, error) {
	b, err := broker.Open(ctx, k.EmbeddedDir, k.EmbeddedListen, c.Log)
	if err != nil {
		return nil, err
	}
	return b, nil
}
