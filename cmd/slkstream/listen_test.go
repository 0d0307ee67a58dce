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

// A page without items shows a command of feed that reaches its stage.
func TestFeedFlags(t *testing.T) {
	for want, set := range map[string]func(*config.Kafka){
		"--out items":                            func(*config.Kafka) {},
		"--out items --embedded-dir /srv/broker": func(k *config.Kafka) { k.EmbeddedDir = "/srv/broker" },
		"--out items --brokers a:9092,b:9092":    func(k *config.Kafka) { k.Brokers = []string{"a:9092", "b:9092"} },
	} {
		c := &call{Config: config.Default("run")}
		c.Config.Topics.In = []string{"items", "others"}
		if set(&c.Config.Kafka); feedFlags(c) != want {
			t.Errorf("%q, not %q", feedFlags(c), want)
		}
	}
}
