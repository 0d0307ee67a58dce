package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
)

func TestBrokerServesUntilStopped(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	printed, out := io.Pipe()
	var messages strings.Builder
	code := make(chan int)
	go func() {
		code <- execute(ctx, []string{"broker", "--embedded-dir", t.TempDir()}, out,
			&messages)
		out.Close()
	}()
	address, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		t.Fatal(err, messages.String())
	}
	conn, err := net.Dial("tcp", strings.TrimSpace(address))
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	stop()
	if c := <-code; c != exitDone {
		t.Errorf("exit %d: %s", c, messages.String())
	}
}
