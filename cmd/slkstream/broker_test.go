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
	code, dir := make(chan int), t.TempDir()
	go func() {
		code <- execute(ctx, []string{"broker", "--embedded-dir", dir}, out,
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
	// A second one says that it only waits.
	another, stopAnother := context.WithCancel(ctx)
	second, secondOut := io.Pipe()
	var says strings.Builder
	go func() {
		if _, err := bufio.NewReader(second).ReadString('\n'); err != nil {
			t.Error(err)
		}
		stopAnother()
	}()
	if c := execute(another, []string{"broker", "--embedded-dir", dir}, secondOut, &says); c != exitDone ||
		!strings.Contains(says.String(), "another process runs the embedded broker") ||
		strings.Contains(says.String(), "stopping the embedded broker") {
		t.Errorf("exit %d: %s", c, says.String())
	}
	stop()
	if c := <-code; c != exitDone {
		t.Errorf("exit %d: %s", c, messages.String())
	}
}
