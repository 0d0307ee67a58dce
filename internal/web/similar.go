package web

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
)

// RecentView is an item as the API shows it: a recent one, or one that waits for a label.
type RecentView struct {
	ID         string    `json:"id"`               // to teach it under
	ItemID     string    `json:"itemId,omitempty"` // the sender's
	Result     string    `json:"result"`
	Stream     string    `json:"stream"`
	Track      string    `json:"track,omitempty"`
	Time       time.Time `json:"time"`
	Label      string    `json:"label"`
	Was        string    `json:"was,omitempty"` // label before the examples of a preview
	Confidence float64   `json:"confidence"`
	Unknown    bool      `json:"unknown"`
	Taught     bool      `json:"taught,omitempty"`
	Image      string    `json:"image,omitempty"`
	Model      string    `json:"model,omitempty"`
	Distance   *float64  `json:"distance,omitempty"` // squared, between unit vectors
	Vector     string    `json:"vector,omitempty"`   // base64 of little-endian float32

	Identity        string   `json:"identity,omitempty"`        // of its cluster, over all streams
	IdentityStreams []string `json:"identityStreams,omitempty"` // in which the identity has been
}

func (p *Page) recentView(it *recent.Item) RecentView {
	v := RecentView{
		ID: it.Name, ItemID: it.ItemID, Result: it.ID, Stream: it.Stream, Track: it.Track, Time: it.Time, Label: it.Label,
		Confidence: zeroUnlessFinite(it.Confidence), Unknown: it.Unknown, Taught: it.Taught, Model: it.Model,
		Image: p.image(it.ItemID, it.Name, it.Attributes),
	}
	if one := p.identities().of(it); one != nil {
		v.Identity, v.IdentityStreams = one.Name, one.streams
	}
	return v
}

func vectorText(v []float32) string {
	return base64.StdEncoding.EncodeToString(record.AppendVector(nil, v))
}

// SimilarView is the reply of apiSimilar.
type SimilarView struct {
	Item  *RecentView  `json:"item,omitempty"` // the item asked about by id, with its vector
	Items []RecentView `json:"items"`          // the nearest first
	Kept  int          `json:"kept"`           // number of items kept
	Since time.Time    `json:"since"`          // nothing is known of the time before
}

// apiSimilar returns the recent items most like an item or a vector, with their labels.
func (p *Page) apiSimilar(_ *http.Request, body *struct {
	ID     string          `json:"id"`
	Vector json.RawMessage `json:"vector"`
	Model  string          `json:"model"`
	Count  int             `json:"count"`
	Since  time.Time       `json:"since"`
},
) (any, error) {
	store := p.options.Recent
	if store == nil {
		return nil, errNoRecent
	}
	body.Count = cmp.Or(body.Count, 10)
	if body.Count < 1 || body.Count > 100 {
		return nil, wrong("count is a whole number from 1 to 100")
	}
	q := recent.Query{Model: body.Model, Count: body.Count, Since: body.Since}
	var view SimilarView
	switch {
	case (body.ID == "") == (len(body.Vector) == 0):
		return nil, wrong("either id or vector is needed")
	case body.ID != "":
		all, err := p.findRecent(body.ID)
		if err != nil {
			return nil, err
		}
		item := all[body.ID]
		if item.Vector == nil {
			return nil, refuse(http.StatusNotFound,
				"that item is not among the recent ones of this process, whose memory is --recent (POST /api/similar also takes a vector)")
		}
		asked := p.recentView(&item.Item)
		asked.Vector = vectorText(item.Vector)
		view.Item, q.Vector, q.Model, q.Except = &asked, item.Vector, item.Model, item.ID
	default:
		var err error
		if q.Vector, err = record.ParseVector(body.Vector); err != nil {
			return nil, wrong("vector: %v", err)
		}
	}
	view.Items = []RecentView{}
	for _, m := range store.Similar(q) {
		v := p.recentView(&m.Item)
		v.Distance = &m.Distance
		view.Items = append(view.Items, v)
	}
	view.Kept, view.Since = store.Reach()
	return &view, nil
}
