package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// linkedStage is a stage that has linked clusters of three streams, and two items of the first two.
func linkedStage() (fakeStage, *recent.Store) {
	items := []recent.Item{
		{ID: "in/0/0", Name: "a", Stream: "door", Label: "cluster-1", Unknown: true},
		{ID: "in/0/1", Name: "b", Stream: "yard", Model: "v2", Label: "bo", Class: "cluster-1", Unknown: true},
		{ID: "in/0/2", Name: "c", Stream: "yard", Label: "cluster-1", Unknown: true}, // of another model
	}
	store, vectors := recent.New(1<<20), [][]float32{{1, 0}, {1, .1}, {1, .2}}
	store.Open("in/0").Add(recent.NewBlock(items, func(i int) []float32 { return vectors[i] }))
	var strangers []recent.Stranger
	for i := range items {
		strangers = append(strangers, recent.Stranger{Found: recent.Found{Item: items[i], Vector: vectors[i]}, Group: i})
	}
	return fakeStage{
		strangers: func() ([]recent.Stranger, error) { return strangers, nil },
		linked: []labels.Linked{
			{Identity: "shop/identity-5", Of: record.StreamID{Name: "gate"}, Cluster: "cluster-4"},
			{Identity: "anna", Of: record.StreamID{Name: "yard", Model: "v2"}, Cluster: "cluster-1"},
			{Identity: "shop/identity-5", Of: record.StreamID{Name: "door"}, Cluster: "cluster-1"},
			{Identity: "shop/identity-5", Of: record.StreamID{Name: "gate"}, Cluster: "cluster-2"},
		},
	}, store
}

// Recent items, and groups of unknown ones, say on which streams their identities have been, whoever answered those; the
// names list all identities.
func TestIdentitiesOverStreams(t *testing.T) {
	stage, store := linkedStage()
	server := serving(t, pageOf(Options{Recent: store}, stage), Access{Loopback: true})
	want := map[string]string{"a": "shop/identity-5 [door gate]", "b": "anna [yard]", "c": " []"}
	check := func(where string, v *RecentView) {
		t.Helper()
		if got := fmt.Sprint(v.Identity, " ", v.IdentityStreams); got != want[v.ID] {
			t.Errorf("%s: %s is %s, not %s", where, v.ID, got, want[v.ID])
		}
	}
	code, text := post(t, server, "/api/similar", `{"id":"a"}`)
	var similar SimilarView
	if code != http.StatusOK || json.Unmarshal([]byte(text), &similar) != nil || len(similar.Items) != 2 {
		t.Fatal(code, text)
	}
	check("similar", similar.Item)
	for i := range similar.Items {
		check("similar", &similar.Items[i])
	}
	var unknown struct{ Groups []groupView }
	if err := json.NewDecoder(get(t, server, "/api/unknown").Body).Decode(&unknown); err != nil || len(unknown.Groups) != 3 {
		t.Fatal(err, unknown)
	}
	for i := range unknown.Groups {
		check("unknown", &unknown.Groups[i].Middle)
	}
	var names struct{ Identities []identityView }
	if err := json.NewDecoder(get(t, server, "/api/names").Body).Decode(&names); err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, one := range names.Identities {
		got += fmt.Sprint(one.Name, one.Clusters)
	}
	if got != "shop/identity-5[{door cluster-1 } {gate cluster-2 } {gate cluster-4 }]anna[{yard cluster-1 v2}]" {
		t.Error(got)
	}
}

// Nobody reads the name of an identity once it is forgotten.
func TestForgottenIdentities(t *testing.T) {
	stage, store := linkedStage()
	p := pageOf(Options{Recent: store}, stage)
	if all := p.identities().all; len(all) != 2 {
		t.Fatal(all)
	}
	p.stage = &fakeStage{}
	p.forget(map[string]bool{"anna": true})
	if all := p.identities().all; len(all) != 0 {
		t.Error(all)
	}
}

func BenchmarkIdentities(b *testing.B) {
	var list []labels.Linked
	for i := range 100_000 {
		list = append(list, labels.Linked{
			Identity: fmt.Sprint("shop/identity-", i/10), Of: record.StreamID{Name: fmt.Sprint("cam-", i%200)},
			Cluster: fmt.Sprint("cluster-", i/200),
		})
	}
	p := pageOf(Options{}, fakeStage{linked: list})
	for b.Loop() {
		p.linked.drop()
		p.identities()
	}
}
