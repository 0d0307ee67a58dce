package main

import (
	"net"
	"os"
	"strings"
)

// seatOf names an address that this process listens at, with the machine's start and the network that the address is of: no
// two live processes have one name, and a container that is started again in its pod has the name that it had. "": at is nil,
// or the system does not say.
func seatOf(at net.Addr) string {
	started, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	network, unknown := os.Readlink("/proc/self/ns/net")
	if at == nil || err != nil || unknown != nil {
		return ""
	}
	return strings.Join([]string{strings.TrimSpace(string(started)), network, at.String()}, " ")
}
