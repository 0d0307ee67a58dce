package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
)

// Access says who may use a listener.
type Access struct {
	Loopback bool   // only this machine can reach it
	Token    string // that a visitor must present; "": none is required
	View     string // with Token: another token, for reading only; "": none
	Open     []string
}

// tokenCookie holds the token of a visitor who came by a link with ?token=.
const tokenCookie = "slkstream-token"

// Guard passes only permitted requests on to next. Paths in Open (health) are open to all. A loopback
// listener without a token answers to loopback names only, so that no site can reach it under its own name. A
// request other than GET and HEAD must have the same origin and, without a token, a host name that no site
// can point here. If there is a token it is required, as a bearer token or once as ?token=. A visitor with
// the token View can read, and ask for answers, neighbours and previews, but not teach.
func (a Access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, open := range a.Open {
			if r.URL.Path == open {
				next.ServeHTTP(w, r)
				return
			}
		}
		if a.Loopback && a.Token == "" && !loopbackHost(r.Host) {
			http.Error(w, "this address answers to localhost only", http.StatusMisdirectedRequest)
			return
		}
		changes := r.Method != http.MethodGet && r.Method != http.MethodHead
		if changes && a.Token == "" && !ownHost(r.Host) {
			http.Error(w, "without --listen-token-file nothing is changed under this name, which any site may point "+
				"here: use the machine's address or name", http.StatusMisdirectedRequest)
			return
		}
		if changes && !sameOrigin(r) {
			http.Error(w, "another site may not do this", http.StatusForbidden)
			return
		}
		if a.Token != "" {
			if given := r.URL.Query().Get("token"); given != "" && a.known(given) && r.Method == http.MethodGet {
				http.SetCookie(w, &http.Cookie{
					Name: tokenCookie, Value: url.QueryEscape(given), Path: "/",
					HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
				})
				w.Header().Set("Referrer-Policy", "no-referrer")
				to := url.URL{Path: path.Clean(r.URL.Path)}                // of this site: no //HOST
				http.Redirect(w, r, to.EscapedPath(), http.StatusSeeOther) // not kept in address bar and history
				return
			}
			shown := tokenOf(r)
			if !a.known(shown) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "a token is needed: open the page once with ?token=TOKEN, or send it as a bearer token",
					http.StatusUnauthorized)
				return
			}
			asks := slices.Contains([]string{"/api/similar", "/api/answer", "/api/preview"}, r.URL.Path) && !learns(r)
			if changes && !asks && !matches(shown, a.Token) {
				http.Error(w, "this token is for looking on: to teach, come with the one of --listen-token-file",
					http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func tokenOf(r *http.Request) string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	if cookie, err := r.Cookie(tokenCookie); err == nil {
		if token, err := url.QueryUnescape(cookie.Value); err == nil {
			return token
		}
	}
	return ""
}

// known says whether a token gives access.
func (a Access) known(token string) bool {
	teaches, views := matches(token, a.Token), matches(token, a.View)
	return teaches || views && a.View != ""
}

// matches compares in constant time.
func matches(token, with string) bool {
	given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(with))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

func loopbackHost(hostPort string) bool {
	host := hostOf(hostPort)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ownHost says whether no other site can have pointed the name here: it is an address, a name without a
// domain, or this machine's own name.
func ownHost(hostPort string) bool {
	host := hostOf(hostPort)
	if net.ParseIP(host) != nil || host != "" && !strings.Contains(host, ".") {
		return true
	}
	own, err := os.Hostname()
	return err == nil && strings.EqualFold(host, own)
}

// hostOf returns a host without its port and brackets.
func hostOf(hostPort string) string {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	return strings.Trim(host, "[]")
}

// sameOrigin says whether a page of the same origin sent the request. Clients other than browsers send
// no origin, and pass.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
	case "":
		origin := r.Header.Get("Origin")
		if origin == "" {
			return true
		}
		u, err := url.Parse(origin)
		return err == nil && u.Host == r.Host
	default:
		return false
	}
	return true
}
