package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serving starts a page and its server; both end with the test.
func serving(t *testing.T, p *Page, a Access) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(a.Guard(p.Handler()))
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { p.Run(ctx) })
	t.Cleanup(func() { cancel(); working.Wait(); server.Close() })
	return server
}

func get(t *testing.T, server *httptest.Server, path string) *http.Response {
	t.Helper()
	r, err := server.Client().Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

func TestEverythingIsInTheBinary(t *testing.T) {
	server := serving(t, pageOf(Options{}, fakeStage{}), Access{Loopback: true})
	for _, path := range []string{"/", "/review", "/unknown", "/names"} {
		r := get(t, server, path)
		page, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK || !strings.HasPrefix(string(page), "<!doctype html>") {
			t.Fatal(path, r.Status, err)
		}
		policy := r.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		parts := 0
		for _, part := range strings.Split(string(page), `"`) {
			if strings.HasPrefix(part, "http") || strings.HasPrefix(part, "//") {
				t.Errorf("%s asks elsewhere: %s", path, part)
			}
			if strings.HasPrefix(part, "static/") {
				parts++
				if r := get(t, server, "/"+part); r.StatusCode != http.StatusOK {
					t.Errorf("%s: %s: %s", path, part, r.Status)
				}
			}
		}
		if parts < 3 {
			t.Errorf("%s: %d parts", path, parts)
		}
	}
	if r := get(t, server, "/static/../page.go"); r.StatusCode != http.StatusNotFound {
		t.Errorf("a file beside the page: %s", r.Status)
	}
}

// A visitor gets the stage's title, its status and each episode; a later one gets the last episode at once.
func TestEvents(t *testing.T) {
	s := newSimulation(t)
	p := s.page()
	server := serving(t, p, Access{Loopback: true})
	p.offer(s.episode(t, 12))
	for range 2 {
		lines := bufio.NewScanner(get(t, server, "/events").Body)
		lines.Buffer(nil, 1<<20)
		read := func() (string, error) {
			if !lines.Scan() {
				return "", io.EOF
			}
			return lines.Text(), nil
		}
		seen := map[string]map[string]any{}
		for seen["episode"] == nil {
			name, data, err := readEvent(read)
			if err != nil {
				t.Fatal(err)
			}
			seen[name] = data
		}
		if seen["hello"] == nil || seen["status"] == nil {
			t.Errorf("a visitor is told %v", seen)
		}
		items := seen["episode"]["items"].([]any)
		first := items[0].(map[string]any)
		if len(items) != 12 || first["name"] == "" || !strings.HasPrefix(first["image"].(string),
			"data:image/png") || first["truth"] == "" || len(seen["episode"]["edges"].([]any)) == 0 {
			t.Errorf("%d items, the first %v", len(items), first)
		}
	}
}

func teachRequest(server *httptest.Server, body string, headers ...string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, server.URL+"/api/teach", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

func TestTeaching(t *testing.T) {
	s := newSimulation(t)
	p := s.page()
	server := serving(t, p, Access{Loopback: true})
	e := s.episode(t, 3)
	id, example := e.items[1].Result.ID, e.items[1]
	p.latest = e
	p.show()
	for _, c := range []struct {
		name, body string
		headers    []string
		want       int
	}{
		{"right", `{"id":"` + id + `","label":" coat "}`, nil, http.StatusNoContent},
		{
			"from the page", `{"id":"` + id + `","label":"coat"}`,
			[]string{"Sec-Fetch-Site", "same-origin"},
			http.StatusNoContent,
		},
		{
			"from another site", `{"id":"` + id + `","label":"coat"}`,
			[]string{"Sec-Fetch-Site", "cross-site"},
			http.StatusForbidden,
		},
		{
			"from another port", `{"id":"` + id + `","label":"coat"}`,
			[]string{"Sec-Fetch-Site", "same-site"},
			http.StatusForbidden,
		},
		{
			"from another origin", `{"id":"` + id + `","label":"coat"}`,
			[]string{"Origin", "http://evil.example"},
			http.StatusForbidden,
		},
		{
			"by a form", `{"id":"` + id + `","label":"coat"}`,
			[]string{"Content-Type", "text/plain"},
			http.StatusUnsupportedMediaType,
		},
		{"unknown item", `{"id":"x","label":"coat"}`, nil, http.StatusNotFound},
		{"no label", `{"id":"` + id + `","label":"  "}`, nil, http.StatusBadRequest},
		{"no JSON", `coat`, nil, http.StatusBadRequest},
		{"too long", `{"id":"` + id + `","label":"` + strings.Repeat("x", 300) + `"}`, nil, http.StatusBadRequest},
	} {
		r, err := server.Client().Do(teachRequest(server, c.body, c.headers...))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != c.want {
			t.Errorf("%s: %s %s", c.name, r.Status, answer)
		}
	}
	lessons := s.lessons()
	if len(lessons) != 2 || lessons[0].Label != "coat" || lessons[0].ID != example.Example ||
		len(lessons[0].Vector) != len(example.Vector) {
		t.Errorf("lessons %v", lessons)
	}
}

func TestTeachingThatCannotBe(t *testing.T) {
	for want, say := range map[int]func(context.Context, []record.Out) error{
		http.StatusConflict:   nil,
		http.StatusBadGateway: saying(func(*record.Example) error { return errors.New("no rights") }),
	} {
		p := pageOf(Options{Say: say}, fakeStage{})
		p.shown.add(&item{Result: record.Result{ID: "a"}, Vector: []float32{1}})
		server := serving(t, p, Access{Loopback: true})
		r, err := server.Client().Do(teachRequest(server, `{"id":"a","label":"b"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s, not %d", r.Status, want)
		}
	}
}

// A slow visitor delays no one, and misses only its own messages.
func TestSlowVisitorsAreNotWaitedFor(t *testing.T) {
	s := newSimulation(t)
	p := s.page()
	serving(t, p, Access{Loopback: true})
	messages := p.clients.add()
	for range 3 * behind {
		p.clients.send([]byte("x"))
	}
	if len(messages) != behind {
		t.Errorf("%d messages wait, not %d", len(messages), behind)
	}
	for range mostClients {
		p.clients.add()
	}
	if p.clients.add() != nil {
		t.Error("one visitor too many was let in")
	}
}

func TestGuard(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request,
	) {
		w.WriteHeader(http.StatusNoContent)
	})
	const passed = http.StatusNoContent
	ask := func(a Access, method, target, host string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, nil)
		r.Host = host
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		a.Guard(next).ServeHTTP(w, r)
		return w
	}
	loopback, secret, open := Access{Loopback: true, Open: []string{"/livez"}}, Access{
		Token: "s",
		Open:  []string{"/livez"},
	}, Access{}
	both := Access{Token: "s", View: "v"}
	proxied := Access{Loopback: true, Token: "s", Open: []string{"/livez"}} // behind a proxy on the same machine
	for _, c := range []struct {
		name string
		got  *httptest.ResponseRecorder
		want int
	}{
		{"loopback", ask(loopback, "GET", "/", "127.0.0.1:8070"), passed},
		{"localhost", ask(loopback, "GET", "/", "localhost:8070"), passed},
		{"IPv6", ask(loopback, "GET", "/", "[::1]:8070"), passed},
		{"a name that points here", ask(loopback, "GET", "/", "evil.example:8070"), http.StatusMisdirectedRequest},
		{"loopback with a token, without it", ask(proxied, "GET", "/", "127.0.0.1:8070"), http.StatusUnauthorized},
		{
			"metrics through a proxy, without it", ask(proxied, "GET", "/metrics", "stage.example"),
			http.StatusUnauthorized,
		},
		{
			"events through a proxy, without it", ask(proxied, "GET", "/events", "stage.example"),
			http.StatusUnauthorized,
		},
		{
			"a question for looking on",
			ask(both, "POST", "/api/answer", "stage:8070", "Authorization", "Bearer v"), passed,
		},
		{
			"one that teaches, for looking on",
			ask(both, "POST", "/api/answer?learn", "stage:8070", "Authorization", "Bearer v"), http.StatusForbidden,
		},
		{
			"one that teaches",
			ask(both, "POST", "/api/answer?learn", "stage:8070", "Authorization", "Bearer s"), passed,
		},
		{"through a proxy", ask(proxied, "GET", "/metrics", "stage.example", "Authorization", "Bearer s"), passed},
		{"health through a proxy", ask(proxied, "GET", "/livez", "stage.example"), passed},
		{"no token", ask(secret, "GET", "/", "stage:8070"), http.StatusUnauthorized},
		{"wrong token", ask(secret, "GET", "/?token=x", "stage:8070"), http.StatusUnauthorized},
		{"bearer", ask(secret, "GET", "/metrics", "stage:8070", "Authorization", "Bearer s"), passed},
		{"cookie", ask(secret, "GET", "/", "stage:8070", "Cookie", tokenCookie+"=s"), passed},
		{"link", ask(secret, "GET", "/?token=s", "stage:8070"), http.StatusSeeOther},
		{"link that posts", ask(secret, "POST", "/teach?token=s", "stage:8070"), http.StatusUnauthorized},
		{"health", ask(secret, "GET", "/livez", "stage:8070"), passed},
		{"open", ask(open, "GET", "/", "stage:8070"), passed},
		{"open, posts to an address", ask(open, "POST", "/teach", "10.0.0.7:8070"), passed},
		{"open, posts to an IPv6 address", ask(open, "POST", "/teach", "[fd00::7]:8070"), passed},
		{
			"open, posts under a name that any site may point here",
			ask(open, "POST", "/teach", "rebound.example:8070", "Origin", "http://rebound.example:8070"),
			http.StatusMisdirectedRequest,
		},
		{"a token for looking, looks", ask(both, "GET", "/", "stage:8070", "Authorization", "Bearer v"), passed},
		{
			"a token for looking, asks", ask(both, "POST", "/api/similar", "stage:8070", "Authorization", "Bearer v"),
			passed,
		},
		{
			"a token for looking, teaches", ask(both, "POST", "/api/teach", "stage:8070", "Authorization", "Bearer v"),
			http.StatusForbidden,
		},
		{"a token for looking, by link", ask(both, "GET", "/?token=v", "stage:8070"), http.StatusSeeOther},
		{
			"beside it, the token that teaches", ask(both, "POST", "/api/teach", "stage:8070", "Authorization", "Bearer s"),
			passed,
		},
		{"beside it, no token", ask(both, "GET", "/", "stage:8070"), http.StatusUnauthorized},
		{
			"no token for looking, an empty one", ask(secret, "GET", "/", "stage:8070", "Authorization", "Bearer "),
			http.StatusUnauthorized,
		},
		{
			"a token, posts under a name", ask(secret, "POST", "/teach", "stage.example", "Authorization", "Bearer s"),
			passed,
		},
		{
			"open, another site", ask(open, "POST", "/teach", "stage:8070", "Origin", "http://evil.example"),
			http.StatusForbidden,
		},
	} {
		if c.got.Code != c.want {
			t.Errorf("%s: %d, not %d", c.name, c.got.Code, c.want)
		}
	}
	w := ask(secret, "GET", "/?token=s", "stage:8070")
	if cookie := w.Header().Get("Set-Cookie"); !strings.Contains(cookie, "HttpOnly") ||
		!strings.Contains(cookie, "SameSite=Strict") || w.Header().Get("Location") != "/" {
		t.Errorf("cookie %q, location %q", cookie, w.Header().Get("Location"))
	}
	links := map[string]string{
		"//elsewhere/x?": "/elsewhere/x", `/\elsewhere?`: "/%5Celsewhere", "/names?name=van+3&": "/names?name=van+3",
	}
	for target, want := range links {
		to := ask(secret, "GET", target+"token=s", "stage:8070").Header().Get("Location")
		if to != want {
			t.Errorf("a link leads to %q, not to %q of this site", to, want)
		}
	}
}

func TestImages(t *testing.T) {
	p := New(Options{ImageURL: "http://store/{id}.png"})
	elsewhere := json.RawMessage(`{"image":"http://elsewhere/x"}`)
	if got := p.image("a b/c", "item:in/0/1", elsewhere); got != "http://store/a%20b%2Fc.png" {
		t.Errorf("%s", got)
	}
	if policy := p.policy(); !strings.Contains(policy, "img-src 'self' data: http://store;") {
		t.Errorf("policy %q", policy)
	}
	const mine, inside = "https://x/y.png", "http://192.168.0.1/reboot"
	for _, c := range []struct {
		hosts  []string
		shown  []string
		policy string
	}{
		{nil, nil, "img-src 'self' data:;"}, // a feed cannot make a browser send requests
		{
			[]string{"x", "y:8080"},
			[]string{mine, "http://X/a", "http://y:8080/z"},
			"img-src 'self' data: http://x https://x http://y:8080 https://y:8080;",
		},
		{
			[]string{"*"},
			[]string{mine, inside, "http://X/a", "http://y:8080/z", "http://y:81/"},
			"img-src 'self' data: http: https:;",
		},
	} {
		p = New(Options{ImageHosts: c.hosts})
		if policy := p.policy(); !strings.Contains(policy, c.policy) {
			t.Errorf("policy for %v: %q", c.hosts, policy)
		}
		for _, attribute := range []string{
			mine, inside, "http://X/a", "http://y:8080/z", "http://y:81/", "data:image/png;base64,AA",
			"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//x/y", "http://x@192.168.0.1/",
		} {
			want := slices.Contains(c.shown, attribute) || attribute == "data:image/png;base64,AA" ||
				slices.Equal(c.hosts, []string{"*"}) && attribute == "http://x@192.168.0.1/"
			of, _ := json.Marshal(demo.Attributes{Image: attribute})
			if got := p.image("", "item:in/0/1", of) == attribute; got != want {
				t.Errorf("%v: %q shown: %v", c.hosts, attribute, got)
			}
		}
	}
}
