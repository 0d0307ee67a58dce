package main

import (
	"net"
	"strings"

	"github.com/slkstream/slkstream/config"
)

// advertised returns the URL at which others reach this process's listener: the one that is given, or its
// host or, if it listens on all interfaces, the address from which this machine reaches the brokers; "" if
// others cannot reach it.
func advertised(l *config.Listen, brokers []string) string {
	switch {
	case strings.Contains(l.Advertise, "://"):
		return l.Advertise
	case l.Advertise != "":
		return "http://" + l.Advertise
	}
	host, port, err := net.SplitHostPort(l.Address)
	if err != nil || port == "0" || len(brokers) == 0 {
		return ""
	}
	route, err := net.Dial("udp", brokers[0]) // sends nothing
	if err != nil {
		return ""
	}
	defer route.Close()
	own, ok := route.LocalAddr().(*net.UDPAddr)
	if !ok || l.IsLoopback() && !own.IP.IsLoopback() {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = own.IP.String()
	}
	return "http://" + net.JoinHostPort(host, port)
}
