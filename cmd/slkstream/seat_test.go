package main

import (
	"net"
	"runtime"
	"testing"
)

// A seat is of its address, whoever asks, and nothing without one.
func TestSeatOfAnAddress(t *testing.T) {
	at := func(port int) string { return seatOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}) }
	if runtime.GOOS == "linux" && at(8070) == "" {
		t.Error("there is none")
	}
	first, again := at(8070), at(8070)
	if first != again || first != "" && first == at(8071) || seatOf(nil) != "" {
		t.Errorf("%q, %q, %q", at(8070), at(8071), seatOf(nil))
	}
}
