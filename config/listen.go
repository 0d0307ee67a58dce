package config

import "net"

// Listen is the one HTTP listener: page, metrics, health.
type Listen struct {
	Address   string // "" is none
	Open      bool
	Token     Secret
	TokenFile string
	ImageURL  string
}

func (l *Listen) title() string { return "Page, metrics and health" }

func (l *Listen) settings() []Setting {
	const help = "address of page, metrics and health; port 0 takes a free one; empty: none"
	return append(takenBy([]string{"run", "demo", "health"},
		define("listen", &l.Address, "127.0.0.1:8070", help).example("HOST:PORT"),
	), append(takenBy([]string{"run", "demo"},
		define("image-url", &l.ImageURL, "", "where the page finds an item's picture: a URL in which {id} stands for the item's id; none: its image attribute").example("URL"),
	), append(takenBy([]string{"backfill"},
		define("listen", &l.Address, "", help).example("HOST:PORT"),
	), takenBy([]string{"run", "backfill", "demo"},
		define("listen-open", &l.Open, false, "let everyone who reaches a listen address beyond loopback in without a token"),
		define("listen-token", &l.Token, "", "token a visitor shows at a listen address beyond loopback").secret(),
		define("listen-token-file", &l.TokenFile, "", "file that holds the token").example("FILE"),
	)...)...)...)
}

// IsLoopback says whether only this machine can reach the listener.
func (l *Listen) IsLoopback() bool {
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (l *Listen) faults(c *Config) []Fault {
	if l.Address == "" || c.command == "health" {
		return nil
	}
	if _, _, err := net.SplitHostPort(l.Address); err != nil {
		return []Fault{{Setting: "listen", Problem: "is " + l.Address + ": must be HOST:PORT"}}
	}
	if !l.IsLoopback() && l.Token == "" && !l.Open {
		return []Fault{{Setting: "listen", Problem: "is " + l.Address + ", which others can reach: needs listen-token-file, or listen-open to let everyone in"}}
	}
	return nil
}
