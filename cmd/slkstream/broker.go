package main

import (
	"context"
	"fmt"
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
	c.Log.Info("the embedded broker is up", "address", c.broker.Address(), "dir", c.Config.Kafka.EmbeddedDir,
		"serving", c.broker.Serving())
	<-ctx.Done()
	c.Log.Info("stopping the embedded broker")
	return c.broker.Close()
}
