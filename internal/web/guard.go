package web

import (
	"context"
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

// Guard passes only permitted requests on to next. Paths in Open (health) are open to all. A visitor who
// comes with a token as ?token= gets a cookie instead, so that it is not kept in the address bar and the
// history.
func (a Access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(a.Open, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if err := a.checkSite(r); err != nil {
			send(w, nil, err)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/static/") { // the same in every binary, and needed to sign in
			next.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/signin" && r.Method == http.MethodPost {
			a.signIn(w, r)
			return
		}
		if given := r.URL.Query().Get("token"); a.known(given) && r.Method == http.MethodGet {
			setToken(w, r, given)
			w.Header().Set("Referrer-Policy", "no-referrer")
			query := r.URL.Query()
			query.Del("token")
			to := url.URL{Path: path.Clean(r.URL.Path), RawQuery: query.Encode()} // of this site: no //HOST
			http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther)
			return
		}
		err := a.checkToken(r)
		switch {
		case err == nil:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), reading{}, a.reads(r))))
		case r.Method == http.MethodGet && !a.known(tokenOf(r)) && strings.Contains(r.Header.Get("Accept"), "text/html"):
			protect(w, policyWith("'self'"))
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(signInPage)
		default:
			send(w, nil, err)
		}
	})
}

// signInPage asks for a token.
var signInPage = document("signin")

// signIn gives a visitor who sends a known token its cookie.
func (a Access) signIn(w http.ResponseWriter, r *http.Request) {
	const longest = 4 << 10
	r.Body = http.MaxBytesReader(w, r.Body, longest)
	_, err := asked(func(r *http.Request, body *struct {
		Token string `json:"token"`
	},
	) (any, error) {
		if !a.known(body.Token) {
			return nil, refuse(http.StatusUnauthorized, "that is not the token")
		}
		setToken(w, r, body.Token)
		return nil, nil
	})(r)
	send(w, nil, err)
}

// setToken has the browser send a token from now on.
func setToken(w http.ResponseWriter, r *http.Request, token string) {
	http.SetCookie(w, &http.Cookie{
		Name: tokenCookie, Value: url.QueryEscape(token), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
}

// reading is the key under which a request's context says whether its token is for reading only.
type reading struct{}

func (a Access) reads(r *http.Request) bool { return a.Token != "" && !matches(tokenOf(r), a.Token) }

// readsOnly says whether Guard found a token that is for reading only.
func readsOnly(r *http.Request) bool {
	only, _ := r.Context().Value(reading{}).(bool)
	return only
}

// origins knows by their headers requests that pages of other sites sent. Clients other than browsers send no
// such header, and pass.
var origins http.CrossOriginProtection

// checkSite refuses what another site may have sent. A loopback listener without a token answers to loopback
// names only, so that no site can reach it under its own name. A request that changes something must have the
// same origin and, without a token, a host name that no site can point here.
func (a Access) checkSite(r *http.Request) error {
	switch {
	case a.Loopback && a.Token == "" && !loopbackHost(r.Host):
		return refuse(http.StatusMisdirectedRequest, "this address answers to localhost only")
	case changes(r) && a.Token == "" && !ownHost(r.Host):
		return refuse(http.StatusMisdirectedRequest, "without --listen-token-file nothing is changed under this "+
			"name, which any site may point here: use the machine's address or name")
	case changes(r) && origins.Check(r) != nil:
		return refuse(http.StatusForbidden, "another site may not do this")
	}
	return nil
}

// checkToken refuses visitors without a token, if one is required. The token View allows reading, and
// asking for answers, neighbours and previews, but not teaching.
func (a Access) checkToken(r *http.Request) error {
	token := tokenOf(r)
	asks := Asks(r.URL.Path) && !learns(r)
	switch {
	case a.Token == "":
	case !a.known(token):
		return refuse(http.StatusUnauthorized,
			"a token is needed: open the page once with ?token=TOKEN, or send it as a bearer token").
			with("WWW-Authenticate", "Bearer")
	case changes(r) && !asks && !matches(token, a.Token):
		return refuse(http.StatusForbidden,
			"this token is for looking on: to teach, come with the one of --listen-token-file")
	}
	return nil
}

// Asks says whether a POST to this path only asks, if it has no learn.
func Asks(path string) bool {
	return slices.Contains([]string{"/api/similar", "/api/answer", "/api/preview"}, path)
}

// changes says whether a request may change something.
func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

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

// known says whether a token is one of those that give access.
func (a Access) known(token string) bool {
	teaches, views := matches(token, a.Token), matches(token, a.View)
	return a.Token != "" && (teaches || views && a.View != "")
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
