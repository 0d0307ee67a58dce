package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/health"
)

func review(id string) record.Review {
	return record.Review{
		ID: id, Stream: "door", Model: "m", Vector: []float32{1, 2},
		Attributes: json.RawMessage(`{"image":"data:image/png;base64,AA"}`),
		Guess: record.Guess{
			Result: "in/0/" + id, Label: "cat", Confidence: .5,
			Alternatives: []record.Alternative{{Label: "dog", Confidence: .4}},
		},
	}
}

func ids(reviews []record.Review) (out []string) {
	for _, r := range reviews {
		out = append(out, r.ID)
	}
	return out
}

// Two people never get the same item at once. A skipped item goes to others, and so does one that its holder
// has left for too long.
func TestQuestionsAreHeldByOnePerson(t *testing.T) {
	now := time.Unix(1000, 0)
	q := newQuestions()
	q.now = func() time.Time { return now }
	q.Ask(review("a"), review("b"), review("c"))
	if got := ids(q.Take("ann", 2)); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("ann gets %v", got)
	}
	if got := ids(q.Take("bob", 5)); !slices.Equal(got, []string{"a"}) {
		t.Errorf("bob gets %v", got)
	}
	if got := ids(q.Take("ann", 5)); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("ann, asked again, gets %v", got)
	}
	if !q.Skip("ann", "c") || q.Skip("ann", "none") {
		t.Error("skip")
	}
	if got := ids(q.Take("bob", 5)); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("bob gets %v after ann's skip", got)
	}
	now = now.Add(heldFor)
	if got := ids(q.Take("ann", 5)); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("ann gets %v once bob is away", got)
	}
	q.labelled("a", "dog", "")
	q.Named([]record.Result{{Label: "dog"}, {Label: "dog", Unknown: true}, {Label: "cat"}})
	waiting, _, said := q.session()
	if waiting != 2 || len(said) != 1 || said[0].Guess != "cat" || said[0].Since != 1 {
		t.Errorf("%d wait, %+v", waiting, said)
	}
}

// The queue stays bounded, and the oldest items are dropped.
func TestQuestionsAreBounded(t *testing.T) {
	q := newQuestions()
	for i := range keptQuestion + 10 {
		q.Ask(review(fmt.Sprint(i)))
	}
	if waiting, _, _ := q.session(); waiting != keptQuestion {
		t.Errorf("%d wait", waiting)
	}
	if _, found := q.find("9"); found {
		t.Error("the oldest is still there")
	}
	large := review("large")
	large.Vector = make([]float32, keptBytes/4)
	q.Ask(large)
	if waiting, _, _ := q.session(); waiting != 0 || q.bytes != 0 {
		t.Errorf("%d wait, %d bytes, beside an item beyond the bound", waiting, q.bytes)
	}
}

func post(t *testing.T, server *httptest.Server, path, body string) (int, string) {
	t.Helper()
	r, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	return r.StatusCode, string(text)
}

// saying is an Options.Say: it gives use each example, one without a label where it is forgotten.
func saying(use func(*record.Example) error) func(context.Context, []record.Out) error {
	return func(ctx context.Context, out []record.Out) error {
		decoder, err := record.NewDecoder(record.Options{})
		if err != nil {
			return err
		}
		for _, o := range out {
			l, err := decoder.DecodeLabel(ctx, &record.Raw{Key: o.Key, Value: o.Value})
			if err != nil {
				return err
			}
			e := &record.Example{ID: l.Forget}
			if t := l.Teach; t != nil {
				e = &record.Example{
					ID: t.ItemID, Label: t.Label, Stream: t.Stream, Model: t.Model, Vector: t.Vector,
					Attributes: t.Attributes, By: l.By, At: l.At,
				}
			}
			if err := use(e); err != nil {
				return err
			}
		}
		return nil
	}
}

// A labelling tool can ask, teach by id and by vector, correct, skip and delete, through the API alone.
func TestLabellingTool(t *testing.T) {
	var said []record.Example
	var forgotten []string
	p := pageOf(Options{Say: saying(func(e *record.Example) error {
		if e.Label == "" {
			forgotten = append(forgotten, e.ID)
		} else {
			said = append(said, *e)
		}
		return nil
	})}, fakeStage{classes: []string{"cat"}, dimension: 2})
	server := serving(t, p, Access{Loopback: true})
	p.told(nil, []record.Review{review("a"), review("b")}, false)
	var asked struct {
		Items []reviewView
	}
	_, given := post(t, server, "/api/review", `{"who":"ann"}`)
	if json.Unmarshal([]byte(given), &asked) != nil || len(asked.Items) != 1 {
		t.Fatal(given)
	}
	if r := get(t, server, "/api/review?who=eve"); r.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("taking by GET: %s", r.Status) // any site could do this: a picture's address is enough
	}
	if it := asked.Items[0]; it.ID != "b" || it.Why != "cat, or dog?" || it.Image == "" ||
		it.Vector != "AACAPwAAAEA=" {
		t.Errorf("asked about %+v", it)
	}
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/api/teach", `{"id":"b","label":" dog "}`, 204, ""},
		{"/api/teach", `{"id":"mine","label":"dog","stream":"door","vector":[0.5,1]}`, 204, ""},
		{"/api/teach", `{"id":"mine","label":"cat","vector":"AACAPwAAAEA="}`, 204, ""},
		{"/api/review/skip", `{"id":"a","who":"ann"}`, 204, ""},
		{"/api/forget", `{"id":"mine"}`, 204, ""},
		{"/api/teach", `{"id":"nowhere","label":"dog"}`, 404, "send its vector"},
		{"/api/teach", `{"label":"dog"}`, 400, "id is needed"},
		{"/api/teach", `{"id":"a","label":" "}`, 400, "1 to 200"},
		{"/api/teach", `{"id":"a","label":"` + strings.Repeat("é", 201) + `"}`, 400, "1 to 200"},
		{"/api/teach", `{"id":"a","label":"dog","vector":[0,0]}`, 400, "vector: "},
		{"/api/teach", `{"id":"a","label":"dog","vector":"!"}`, 400, "not base64"},
		{
			"/api/teach", `{"id":"a","label":"dog","vector":[1,2,3]}`, 400,
			`vector has 3 numbers, and the feed's vectors of model "" have 2`,
		},
		{"/api/teach", `[`, 400, "not JSON"},
		{"/api/teach", `{"id":"far","label":"dog","stream":"` + strings.Repeat("x", 1025) + `","vector":[1,2]}`, 400, "stream"},
		{"/api/teach", `{"id":"far","label":"dog","model":"` + strings.Repeat("x", 1025) + `","vector":[1,2]}`, 400, "model"},
		{"/api/teach", `{"id":"a","label":"dog","stream":"` + strings.Repeat("x", 1025) + `"}`, 400, "stream"},
		{"/api/names", `{"name":"cluster-1","into":"dog","stream":"` + strings.Repeat("x", 1025) + `"}`, 400, "stream"},
		{"/api/forget", `{}`, 400, "id is needed"},
		{"/api/review/skip", `{"id":"b","who":"ann"}`, 404, "nobody is asked"},
		{"/api/review/skip", `{"id":"a","who":"` + strings.Repeat("x", 201) + `"}`, 400, "who"},
	} {
		if status, text := post(t, server, c.path, c.body); status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s %s: %d %s", c.path, c.body, status, text)
		}
	}
	if len(said) != 3 || said[0].ID != "b" || said[0].Label != "dog" || said[0].Model != "m" ||
		said[1].Stream != "door" || said[2].Vector[1] != 2 {
		t.Errorf("taught %+v", said)
	}
	if !slices.Equal(forgotten, []string{"mine"}) {
		t.Errorf("forgotten %v", forgotten)
	}
	r, err := server.Client().Post(server.URL+"/api/teach", "text/plain",
		strings.NewReader(`{"id":"a","label":"dog"}`))
	if err != nil || r.StatusCode != http.StatusUnsupportedMediaType {
		t.Error(r, err)
	}
	r.Body.Close()
	for _, body := range []string{
		`{}`, `{"who":"ann","count":-1}`, `{"who":"ann","count":101}`, `{"who":"ann","count":"x"}`,
	} {
		if code, text := post(t, server, "/api/review", body); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
}

// The description names every path of the API with its method, and no other.
func TestOpenAPIIsTrue(t *testing.T) {
	server := serving(t, pageOf(Options{}, fakeStage{}), Access{Loopback: true})
	var described struct {
		Paths map[string]map[string]any
	}
	if err := json.NewDecoder(get(t, server, "/api/openapi.json").Body).Decode(&described); err != nil {
		t.Fatal(err)
	}
	for path, methods := range described.Paths {
		for method := range methods {
			request, err := http.NewRequest(strings.ToUpper(method), server.URL+path, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			r, err := server.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if r.StatusCode == http.StatusMethodNotAllowed || strings.Contains(string(text), "404 page not found") {
				t.Errorf("%s %s is described and not there", method, path)
			}
		}
	}
	for route := range New(Options{}).routes() {
		method, path, _ := strings.Cut(route, " ")
		if _, there := described.Paths[path][strings.ToLower(method)]; !there {
			t.Errorf("%s is there and not described", route)
		}
	}
}

// Troubles of the stage are in the status that the API returns, even if no page was opened before, and are
// sent to the page.
func TestTroublesAreTold(t *testing.T) {
	p := pageOf(Options{}, fakeStage{status: func() pipeline.Summary {
		return pipeline.Summary{Answered: 7, Troubles: []health.Trouble{{
			What:  "nothing of the input could be used",
			Cause: "dimension 3", Do: "look at the feed",
		}}}
	}})
	answer := httptest.NewRecorder()
	p.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/api/state", nil))
	var state struct {
		Status pipeline.Summary `json:"status"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &state); err != nil {
		t.Fatal(err)
	}
	if s := state.Status; s.Answered != 7 || len(s.Troubles) != 1 || s.Troubles[0].Do != "look at the feed" {
		t.Errorf("%+v", s)
	}
	if sent := string(message("status", p.status(time.Now()))); !strings.Contains(sent, "dimension 3") {
		t.Errorf("the page is sent %s", sent)
	}
}

// The labels offered to a person are those of the labels topic, those taught here, and those of answers, the
// most used first; clusters are not labels.
func TestLabelsOffered(t *testing.T) {
	p := pageOf(Options{}, fakeStage{classes: []string{"ant", "bee", "cat"}})
	p.told([]record.Result{
		{Label: "cat"}, {Label: "cat"}, {Label: "fed"}, {Label: "bee", Unknown: true}, {Label: "cluster-7"},
	}, nil, false)
	p.questions.labelled("x", "new", "")
	if got := p.labels(); !slices.Equal(got, []string{"cat", "fed", "ant", "bee", "new"}) {
		t.Errorf("%v", got)
	}
	var many []record.Result
	for i := range 3000 {
		many = append(many, record.Result{Label: fmt.Sprint("label-", i)})
	}
	p.told(many, nil, false)
	if got := p.labels(); len(got) != mostLabels {
		t.Errorf("%d labels are offered", len(got))
	}
}

// By is the user that the proxy's header names, and empty if no header is configured.
func TestWhoTaught(t *testing.T) {
	for header, want := range map[string]string{"": "", "X-Forwarded-User": "kim"} {
		var said record.Example
		server := serving(t, pageOf(Options{
			UserHeader: header,
			Say:        saying(func(e *record.Example) error { said = *e; return nil }),
		}, fakeStage{}), Access{Loopback: true})
		body := strings.NewReader(`{"id":"a","label":"cat","vector":[1,2]}`)
		request, _ := http.NewRequest(http.MethodPost, server.URL+"/api/teach", body)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Forwarded-User", "kim")
		r, err := server.Client().Do(request)
		if err != nil || r.StatusCode != http.StatusNoContent {
			t.Fatal(r, err)
		}
		r.Body.Close()
		if said.By != want || said.At.IsZero() {
			t.Errorf("header %q: %+v", header, said)
		}
	}
}

// A key that a path does not take, as one with a typing error, is refused, and so is text after the body.
func TestUnknownKeys(t *testing.T) {
	say := func(context.Context, []record.Out) error {
		t.Error("something was written")
		return nil
	}
	page := pageOf(Options{Say: say, Recent: recent.New(1 << 20)}, fakeStage{})
	server := serving(t, page, Access{Loopback: true})
	for route := range page.routes() {
		path, isPost := strings.CutPrefix(route, "POST ")
		if !isPost {
			continue
		}
		code, text := post(t, server, path, `{"lable":"cat"}`)
		if code != http.StatusBadRequest || !strings.HasPrefix(text, `unknown key "lable": this path takes `) {
			t.Errorf("%s: %d %s", path, code, text)
		}
		if code, text = post(t, server, path, `{} {}`); code != http.StatusBadRequest {
			t.Errorf("%s, two bodies: %d %s", path, code, text)
		}
	}
	code, text := post(t, server, "/api/review", `{"who":"kim","coumt":5}`)
	want := "unknown key \"coumt\": this path takes who, count\n"
	if code != http.StatusBadRequest || text != want {
		t.Errorf("%d %q, not %q", code, text, want)
	}
	for body, want := range map[string]string{
		`{"who":7}`:               "who: a number is not what this key takes\n",
		`{"who":"a","count":"b"}`: "count: a string is not what this key takes\n",
		`[]`:                      "send one JSON object with keys of who, count\n",
		``:                        "send one JSON object with keys of who, count\n",
		`{"who":`:                 "not JSON: unexpected EOF\n",
		`{"who" 7}`:               "not JSON: invalid character '7' after object key\n",
	} {
		if code, text = post(t, server, "/api/review", body); code != http.StatusBadRequest || text != want {
			t.Errorf("%s: %d %q, not %q", body, code, text, want)
		}
	}
}
