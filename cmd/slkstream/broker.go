package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/topic"
)

var brokerCommand = command{
	name:  "broker",
	short: "run the embedded broker alone until stopped",
	long: "broker runs the embedded broker on a loopback port that any Kafka client can use, and prints its address.\n" +
		"If another process serves the directory already, it stands by and takes over when that one ends.",
	run: runBroker,
}

func runBroker(ctx context.Context, c *call) error {
	if err := c.openBroker(ctx); err != nil {
		return err
	}
	fmt.Fprintln(c.Out, c.broker.Address())
	up, stopping := "the embedded broker is up", "stopping the embedded broker"
	if !c.broker.Serving() {
		up = "another process runs the embedded broker here: this one takes over when it ends"
		stopping = "no longer waiting to take over the embedded broker"
	}
	c.Log.Info(up, "address", c.broker.Address(), "dir", c.Config.Kafka.EmbeddedDir,
		"serving", c.broker.Serving())
	<-ctx.Done()
	if c.broker.Serving() {
		stopping = "stopping the embedded broker"
	}
	c.Log.Info(stopping)
	return c.broker.Close()
}

// kafka returns a client of the configured brokers or, if none are configured, of the embedded one, which is
// then c.broker and creates topics on first use. topics lists every topic used; none means any. The client is
// closed when the command ends.
func (c *call) kafka(ctx context.Context, topics ...string) (*topic.Client, error) {
	s := brokerSettings(c)
	s.Topics = topics
	if len(s.Brokers) == 0 {
		if err := c.openBroker(ctx); err != nil {
			return nil, err
		}
		c.atEnd(func() {
			if err := c.broker.Close(); err != nil {
				c.Log.Error("closing the embedded broker", "error", err)
			}
		})
		c.Log.Info("no brokers are set: using the embedded broker", "address", c.broker.Address(),
			"dir", c.Config.Kafka.EmbeddedDir)
		s.Brokers = []string{c.broker.Address()}
	}
	client, err := topic.Connect(s)
	if err != nil {
		return nil, err
	}
	c.atEnd(client.Close)
	return client, nil
}

// onKafka makes a command of what works with a client of the brokers.
func onKafka(run func(context.Context, *call, *topic.Client) error) func(context.Context, *call) error {
	return func(ctx context.Context, c *call) error {
		client, err := c.kafka(ctx)
		if err != nil {
			return err
		}
		return run(ctx, c, client)
	}
}

const noTopic = " does not exist: nothing was written to it yet, or "

// explained says in plain words that a topic is missing, and which setting names it. Other errors stay.
func (c *call) explained(err error) error {
	if !errors.Is(err, kafka.UnknownTopicOrPartition) {
		return err
	}
	t, unknown, text := &c.Config.Topics, ": "+kafka.UnknownTopicOrPartition.Error(), err.Error()
	named := t.Own()
	for _, in := range t.In {
		named = append(named, config.Own{Setting: "in", Name: in})
	}
	for _, own := range named {
		if own.Setting == "state" && t.State == "" {
			own.Setting = "group"
		}
		if _, rest, found := strings.Cut(text, "topic "+own.Name+unknown); found {
			return fmt.Errorf("topic %s%s--%s names another%s", own.Name, noTopic, own.Setting, rest)
		}
	}
	if at := (*topic.Refused)(nil); errors.As(err, &at) {
		text = fmt.Sprintf("topic %s, partition %d%s", at.Topic, at.Partition, unknown)
	}
	return errors.New(strings.Replace(text, unknown, noTopic+"it has another name", 1))
}

// openBroker opens the embedded broker, which the caller closes.
func (c *call) openBroker(ctx context.Context) (err error) {
	k := c.Config.Kafka
	c.broker, err = broker.Open(ctx, k.EmbeddedDir, k.EmbeddedListen, c.Log)
	return err
}

// brokerSettings returns the connection settings for Kafka.
func brokerSettings(c *call) topic.Settings {
	k := c.Config.Kafka
	file, command := k.Token()
	s := topic.Settings{
		Brokers: k.Brokers, ClientID: k.ClientID, Rack: k.ClientRack, TLS: k.TLS, CA: k.TLSCA, Cert: k.TLSCert, Key: k.TLSKey,
		SASL: k.SASL, User: k.SASLUser, Password: string(k.SASLPassword), TokenCommand: command, Log: c.Log,
	}
	if k.SASL == "oauthbearer" {
		s.TokenFile = file
	} else {
		s.PasswordFile = file
	}
	return s
}
