package main

import (
	"net"

	"github.com/slkstream/slkstream/config"
)

// advertised is where other processes of the group find this one's listener: its host or, where it listens on
// all, the address from which this machine reaches the brokers; "" where others do not reach it.
func advertised(l *config.Listen, brokers []string) string {
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
