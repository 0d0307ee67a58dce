package main

import (
	"net"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/config"
)

// If the default address is in use, the next free port is taken; a given one in use is an error that
// names the setting.
func TestNextFreePort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	next, err := nextSocket(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	next.Close()
	if got, was := next.Addr().(*net.TCPAddr), taken.Addr().(*net.TCPAddr); got.Port <= was.Port ||
		got.Port > was.Port+100 {
		t.Errorf("port %d after %d", got.Port, was.Port)
	}
	c := &call{Config: config.Default("run")}
	c.Config.Listen.Address = "nowhere"
	if _, err := openSocket(c); err == nil || !strings.Contains(err.Error(), "listen") {
		t.Errorf("nowhere: %v", err)
	}
}
