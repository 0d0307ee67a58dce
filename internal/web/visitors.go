package web

import (
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
)

// mostConnections is how many connections a listener keeps, far fewer than a process may have files open: the
// brokers' connections are files too.
const mostConnections = 512

// Visitors closes connections beyond mostConnections, so that visitors who keep many open neither use up the
// process's files and memory nor lock others out, such as probes of health. It closes the oldest of those
// without a request, else the oldest. The zero value is ready to use.
type Visitors struct {
	mu  sync.Mutex
	all []visitor // the oldest first
}

type visitor struct {
	conn net.Conn
	asks bool // a request is being served
}

// State is an http.Server's ConnState.
func (v *Visitors) State(conn net.Conn, state http.ConnState) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(v.all, func(one visitor) bool { return one.conn == conn })
	switch {
	case state == http.StateNew:
		v.all = append(v.all, visitor{conn: conn})
		if len(v.all) > mostConnections {
			oldest := max(0, slices.IndexFunc(v.all[:mostConnections], func(one visitor) bool { return !one.asks }))
			cut(v.all[oldest].conn)
			v.all = slices.Delete(v.all, oldest, oldest+1)
		}
	case at < 0: // it was closed
	case state == http.StateActive || state == http.StateIdle:
		v.all[at].asks = state == http.StateActive
	default:
		v.all = slices.Delete(v.all, at, at+1)
	}
}

// cut closes a connection at once: with TLS, Close says so to the visitor first, which takes 5 s if they do not read.
func cut(conn net.Conn) {
	if secure, is := conn.(*tls.Conn); is {
		conn = secure.NetConn()
	}
	conn.Close()
}
