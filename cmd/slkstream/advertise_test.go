package main

import (
	"testing"

	"github.com/slkstream/slkstream/config"
)

// A listener on all addresses advertises the one that leads to the brokers.
func TestAdvertised(t *testing.T) {
	const here = "127.0.0.1:9092"
	for _, c := range []struct{ listen, broker, want string }{
		{"0.0.0.0:8070", here, "http://127.0.0.1:8070"},
		{":8070", here, "http://127.0.0.1:8070"},
		{"127.0.0.1:8070", here, "http://127.0.0.1:8070"},
		{"stage-0.stages:8070", here, "http://stage-0.stages:8070"},
		{"0.0.0.0:0", here, ""},
		{"", here, ""},
		{"0.0.0.0:8070", "no address", ""},
	} {
		if got := advertised(&config.Listen{Address: c.listen}, []string{c.broker}); got != c.want {
			t.Errorf("%s: %q, not %q", c.listen, got, c.want)
		}
	}
	for given, want := range map[string]string{"edge:80": "http://edge:80", "https://edge/a": "https://edge/a"} {
		if got := advertised(&config.Listen{Address: ":8070", Advertise: given}, nil); got != want {
			t.Errorf("%s given: %q", given, got)
		}
	}
	if got := advertised(&config.Listen{Address: ":8070"}, nil); got != "" {
		t.Errorf("without brokers: %q", got)
	}
}
